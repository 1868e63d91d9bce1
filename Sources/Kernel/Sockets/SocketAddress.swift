// Either kind of address, and its translation to and from what the kernel reads.

internal import CLinux
internal import Glibc

/// Where a stream socket listens: a path, or a host and a port.
package enum SocketAddress: Hashable, Sendable, CustomStringConvertible {
    case unix(UnixAddress)
    case tcp(TCPAddress)

    /// The path, or `host:port`.
    package var description: String {
        switch self {
        case .unix(let address): return address.description
        case .tcp(let address): return address.description
        }
    }

    var family: CInt {
        switch self {
        case .unix: return AF_UNIX
        case .tcp(let address): return address.isIPv6 ? AF_INET6 : AF_INET
        }
    }

    /// Calls `body` with the address as the kernel wants it.
    func withStorage<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        switch self {
        case .unix(let address): return unsafe withPointer(address.storage, body)
        case .tcp(let address):
            return address.isIPv6
                ? unsafe withPointer(address.storage6, body)
                : unsafe withPointer(address.storage4, body)
        }
    }

    private func withPointer<Storage, Result>(
        _ storage: Storage, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        unsafe withUnsafeBytes(of: storage) { bytes in
            // Every kind of address begins as a `sockaddr` does; that is how the interface works.
            unsafe bytes.withMemoryRebound(to: sockaddr.self) { start in
                guard let base = start.baseAddress else { fatalError("an address has bytes") }
                return unsafe body(base, socklen_t(MemoryLayout<Storage>.size))
            }
        }
    }

    /// The address that a socket is bound to; nil when it is of another kind, or has no name.
    ///
    /// - Source: getsockname(2).
    package static func bound(
        _ descriptor: borrowing Descriptor
    ) throws(SystemError) -> SocketAddress? {
        let number = descriptor.number
        return try unsafe told(by: "getsockname") { unsafe getsockname(number, $0, $1) }
    }

    /// The address of a connection's other end; nil when it is of another kind, or has no name.
    ///
    /// - Throws: ENOTCONN when the other end has left.
    /// - Source: getpeername(2).
    package static func peer(
        of descriptor: borrowing Descriptor
    ) throws(SystemError) -> SocketAddress? {
        let number = descriptor.number
        return try unsafe told(by: "getpeername") { unsafe getpeername(number, $0, $1) }
    }

    private static func told(
        by operation: String,
        _ body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
    ) throws(SystemError) -> SocketAddress? {
        var storage = sockaddr_storage()
        var byteCount = socklen_t(MemoryLayout<sockaddr_storage>.size)
        try retrying(operation) {
            unsafe withUnsafeMutablePointer(to: &storage) { storage in
                unsafe storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    unsafe body(address, &byteCount)
                }
            }
        }
        let family = CInt(storage.ss_family)
        return unsafe withUnsafeBytes(of: &storage) { bytes -> SocketAddress? in
            switch family {
            case AF_UNIX:
                let address = unsafe bytes.load(as: sockaddr_un.self)
                return UnixAddress(address, byteCount: Int(byteCount)).map { .unix($0) }
            case AF_INET: return unsafe .tcp(TCPAddress(bytes.load(as: sockaddr_in.self)))
            case AF_INET6: return unsafe .tcp(TCPAddress(bytes.load(as: sockaddr_in6.self)))
            default: return nil
            }
        }
    }
}
