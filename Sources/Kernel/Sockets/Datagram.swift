// One message to a socket that takes single ones, such as the service manager's.

internal import CLinux
internal import Glibc

/// Messages to Unix sockets, each of them by itself.
package enum Datagram {
    /// Sends a message.
    ///
    /// - Parameter name: the socket's path, or `@` and a name that is no file's.
    /// - Throws: ENOENT, ECONNREFUSED (no reader), EACCES, EAGAIN (its queue is full), EMSGSIZE;
    ///   ENAMETOOLONG and EINVAL for what is no name of a socket.
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: unix(7), sendto(2).
    package static func send(_ message: [UInt8], to name: String) throws(SystemError) {
        let operation = "send to \(name)"
        var bytes = Array(name.utf8)
        guard bytes.first == UInt8(ascii: "/") || bytes.first == UInt8(ascii: "@"),
            bytes.count > 1, !bytes.contains(0)
        else { throw SystemError(operation: operation, errno: EINVAL) }
        guard bytes.count <= UnixAddress.byteCountMax else {
            throw SystemError(operation: operation, errno: ENAMETOOLONG)
        }
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        // The bytes count, not a NUL: a name that is no file's ends with its last byte.
        let byteCount = (MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2) + bytes.count

        let number = try retrying("socket") {
            socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        }
        let descriptor = Descriptor(owning: number)
        let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
        try retrying(operation) {
            unsafe withUnsafePointer(to: &address) { address in
                unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    unsafe sendto(
                        descriptor.number, message, message.count, flags, address,
                        socklen_t(byteCount))
                }
            }
        }
    }
}
