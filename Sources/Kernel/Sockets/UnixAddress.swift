// The address of a socket that is a file.

internal import CLinux
internal import Glibc

/// The path of a Unix domain socket, known to fit.
package struct UnixAddress: Hashable, Sendable, CustomStringConvertible {
    /// How long a path may be: `sun_path` has 108 bytes and the last is NUL.
    ///
    /// - Source: unix(7).
    package static let byteCountMax = 107

    /// The path, as it was given.
    package let path: String

    /// Checks a path.
    ///
    /// - Throws: `SocketError.pathTooLong`, or `.badAddress` when it is empty or contains NUL.
    /// - Thread: any.
    /// - Blocks: never.
    package init(_ path: String) throws(SocketError) {
        let byteCount = path.utf8.count
        if byteCount == 0 {
            throw .badAddress(text: path, reason: "the path of a socket must not be empty")
        }
        if path.utf8.contains(0) {
            throw .badAddress(text: path, reason: "the path of a socket must not contain NUL")
        }
        if byteCount > UnixAddress.byteCountMax {
            throw .pathTooLong(
                path: path, byteCount: byteCount, byteCountMax: UnixAddress.byteCountMax)
        }
        self.path = path
    }

    /// The path.
    package var description: String { path }

    /// The directory that the socket is in.
    var directory: String { Directory.parent(of: path) }

    /// The address as the kernel wants it.
    var storage: sockaddr_un {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { room in
            unsafe room.copyBytes(from: path.utf8)
        }
        return address
    }

    /// Reads an address that the kernel filled in; nil when it has no path.
    init?(_ address: sockaddr_un, byteCount: Int) {
        let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        let bytes = unsafe withUnsafeBytes(of: address.sun_path) { bytes in
            unsafe [UInt8](bytes.prefix(max(0, byteCount - offset)))
        }
        guard let first = bytes.first, first != 0 else { return nil }
        path = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
}
