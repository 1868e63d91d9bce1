// The bytes in front of a connection that a node passes on: a node that reads them serves the
// connection itself, or closes it. So no connection is passed on twice, whatever address a node was
// told. They say nothing about the client and give no right; any client may send them.
//
// They come before the protocol, and before TLS. None of the three protocols begins with a zero.

internal import Kernel

/// The mark of a connection that was passed on.
enum RelayMark {
    static let bytes: [UInt8] = [0] + Array("workerd relay/1".utf8)

    /// Whether a connection that begins with this byte was passed on.
    static func begins(with byte: UInt8) -> Bool { byte == bytes[0] }
}

extension Session {
    /// Reads the mark in front of the client's bytes, if there is one.
    ///
    /// - Returns: whether the client's own bytes are next; false if none is here yet.
    func skipMark() -> Bool {
        guard var count = markByteCount, let socket else { return true }
        do throws(SystemError) {
            if count == 0 {
                var first: UInt8 = 0
                let result = try socket.descriptor.peek(&first)
                if result == .wouldBlock { return false }
                guard result != .end, RelayMark.begins(with: first) else {
                    markByteCount = nil
                    return true
                }
            }
            while count < RelayMark.bytes.count {
                var bytes: [UInt8] = []
                let result = try socket.descriptor.read(
                    appendingTo: &bytes, atMost: RelayMark.bytes.count - count)
                if result == .wouldBlock {
                    markByteCount = count
                    return false
                }
                guard !bytes.isEmpty, RelayMark.bytes[count...].starts(with: bytes) else {
                    close("it begins with a zero")
                    return false
                }
                count += bytes.count
            }
        } catch {
            close("reading failed: \(error)")
            return false
        }
        markByteCount = nil
        isFromNode = true
        return true
    }
}
