// Operations that only sockets have: send without SIGPIPE, end one direction.

internal import CLinux
internal import Glibc

extension Descriptor {
    /// Makes a stream socket, close-on-exec.
    static func socket(family: CInt, isNonBlocking: Bool) throws(SystemError) -> Descriptor {
        let number = try retrying("socket") {
            Glibc.socket(family, streamType(isNonBlocking: isNonBlocking), 0)
        }
        return Descriptor(owning: number)
    }

    /// Writes a span to a socket, once, without SIGPIPE whatever the process does about it.
    ///
    /// - Throws: EPIPE and ECONNRESET when the other end is gone.
    /// - Thread: the one that owns the descriptor.
    /// - Blocks: never when the descriptor is non-blocking.
    /// - Source: send(2), MSG_NOSIGNAL.
    package borrowing func send(_ bytes: Span<UInt8>) throws(SystemError) -> WriteResult {
        try unsafe bytes.withUnsafeBytes { (bytes) throws(SystemError) in
            try unsafe transfer("send", bytes) { base, count in
                unsafe Glibc.send(number, base, count, CInt(MSG_NOSIGNAL))
            }
        }
    }

    /// Writes `bytes` from `offset` on to a socket, once, without SIGPIPE.
    ///
    /// - Throws: as `send(_:)`.
    /// - Thread: the one that owns the descriptor.
    /// - Blocks: never when the descriptor is non-blocking.
    package borrowing func send(
        contentsOf bytes: [UInt8], from offset: Int = 0
    ) throws(SystemError) -> WriteResult {
        try send(bytes.span.extracting(offset...))
    }

    /// Sends chunks in order, in one system call, without SIGPIPE; perhaps only the first part.
    ///
    /// The chunks behind the first 64 are for the next call.
    ///
    /// - Parameters:
    ///   - chunks: what to write; the first 64 of them are taken.
    ///   - offset: how many bytes of the first chunk are out already.
    /// - Returns: how many bytes went out, counted over all chunks from `offset` on.
    /// - Throws: as `send(_:)`.
    /// - Thread: the one that owns the descriptor.
    /// - Blocks: never when the descriptor is non-blocking.
    /// - Complexity: O(chunks sent); no byte is copied, nothing is allocated.
    /// - Source: sendmsg(2), MSG_NOSIGNAL.
    package borrowing func sendVector(
        _ chunks: ArraySlice<[UInt8]>, from offset: Int = 0
    ) throws(SystemError) -> WriteResult {
        try unsafe transferVector("sendmsg", chunks, from: offset) { vector, count in
            var message = unsafe msghdr()
            unsafe message.msg_iov = vector
            unsafe message.msg_iovlen = count
            return unsafe sendmsg(number, &message, CInt(MSG_NOSIGNAL))
        }
    }

    /// Reads the first byte that has arrived, and leaves it there.
    ///
    /// - Parameter byte: the byte, if there is one.
    /// - Throws: as `read(into:)`.
    /// - Thread: the one that owns the descriptor.
    /// - Blocks: never when the descriptor is non-blocking.
    /// - Source: recv(2), MSG_PEEK.
    package borrowing func peek(_ byte: inout UInt8) throws(SystemError) -> ReadResult {
        let count: Int
        do throws(SystemError) {
            count = try retrying("recv") { unsafe recv(number, &byte, 1, CInt(MSG_PEEK)) }
        } catch {
            if error.errno == EAGAIN { return .wouldBlock }
            throw error
        }
        return count == 0 ? .end : .bytes(count)
    }

    /// Tells the other end that nothing more will be written; reading goes on.
    ///
    /// - Throws: nothing that a correct program meets; a connection that is gone is fine.
    /// - Thread: the one that owns the descriptor.
    /// - Blocks: never.
    /// - Source: shutdown(2), SHUT_WR.
    package borrowing func shutdownWriting() throws(SystemError) {
        do throws(SystemError) {
            try retrying("shutdown") { shutdown(number, CInt(SHUT_WR)) }
        } catch {
            if error.errno != ENOTCONN { throw error }
        }
    }

    /// Sets a socket option that is a number.
    borrowing func setOption(
        _ name: String, _ level: CInt, _ option: CInt, _ value: CInt
    ) throws(SystemError) {
        var value = value
        try retrying("setsockopt \(name)") {
            unsafe setsockopt(number, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
        }
    }

    /// Reads a socket option that is a number.
    borrowing func option(
        _ name: String, _ level: CInt, _ option: CInt
    ) throws(SystemError) -> CInt {
        var value: CInt = 0
        var byteCount = socklen_t(MemoryLayout<CInt>.size)
        try retrying("getsockopt \(name)") {
            unsafe getsockopt(number, level, option, &value, &byteCount)
        }
        return value
    }
}

/// The type argument of socket(2): a stream, close-on-exec.
private func streamType(isNonBlocking: Bool) -> CInt {
    let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue
    return CInt(isNonBlocking ? type | SOCK_NONBLOCK.rawValue : type)
}
