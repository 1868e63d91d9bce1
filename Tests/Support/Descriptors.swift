// Short forms of the kernel's calls, for tests: pairs of sockets, addresses from text, writes.

internal import Glibc
package import Kernel

/// Two sockets connected to each other; non-blocking and close-on-exec.
package struct SocketPair: ~Copyable, Sendable {
    package let first: Descriptor
    package let second: Descriptor

    /// Makes two connected sockets.
    package init() throws(SystemError) {
        var ends: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        guard unsafe socketpair(AF_UNIX, type | CInt(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw SystemError(operation: "socketpair", errno: errno)
        }
        first = Descriptor(owning: ends[0])
        second = Descriptor(owning: ends[1])
    }

    /// Gives the second socket away and returns the first.
    package consuming func split(_ takeSecond: (consuming Descriptor) -> Void) -> Descriptor {
        takeSecond(second)
        return first
    }
}

extension SocketAddress {
    /// Reads an address: with a slash it is a path, otherwise `host:port`.
    package init(_ text: String) throws(SocketError) {
        if text.utf8.contains(UInt8(ascii: "/")) {
            self = .unix(try UnixAddress(text))
        } else {
            self = .tcp(try TCPAddress(text))
        }
    }
}

extension Descriptor {
    /// Writes `bytes` from `offset` on, once; perhaps only the first part.
    package borrowing func write(
        contentsOf bytes: [UInt8], from offset: Int = 0
    ) throws(SystemError) -> WriteResult {
        try write(contentsOf: bytes[offset...])
    }

    /// Writes a slice, once; perhaps only the first part.
    package borrowing func write(
        contentsOf bytes: ArraySlice<UInt8>
    ) throws(SystemError) -> WriteResult {
        try unsafe bytes.span.withUnsafeBytes { (bytes) throws(SystemError) in
            try unsafe write(bytes)
        }
    }

    /// Closes the descriptor here and now.
    package consuming func close() {}
}
