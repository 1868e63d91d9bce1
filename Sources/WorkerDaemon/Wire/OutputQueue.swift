// The unsent bytes of one client: small replies gathered in one buffer, large results as they are,
// without copying.

internal import Kernel
internal import TLS

/// Bytes on their way to a client.
///
/// Confined to its session's loop.
struct OutputQueue {
    /// The gathered bytes that are not yet in `chunks`.
    var tail: [UInt8] = []
    private var chunks: [[UInt8]] = []
    /// How many of `chunks` are out entirely, and how much of the next.
    private var sentChunkCount = 0
    private var sentByteCount = 0
    private var chunkByteCount = 0

    /// Results from this size on are queued as they are; smaller ones are cheaper to copy.
    static let wholeByteCountMin = 16 << 10
    private static let retainedByteCountMax = 64 << 10

    /// How many bytes wait.
    var byteCount: Int { chunkByteCount - sentByteCount + tail.count }

    /// How many bytes are in memory: a chunk as a whole until all of it is sent.
    var memoryByteCount: Int { chunkByteCount + tail.count }

    var isEmpty: Bool { byteCount == 0 }

    /// Queues bytes: many as they are, few gathered with others.
    mutating func append(_ bytes: [UInt8]) {
        if bytes.count < Self.wholeByteCountMin { tail += bytes } else { appendWhole(exact(bytes)) }
    }

    /// The same bytes without the spare memory of a buffer that has grown: they may wait for long.
    private func exact(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.capacity - bytes.count > bytes.count / 4 else { return bytes }
        var exact: [UInt8] = []
        exact.reserveCapacity(bytes.count)
        exact += bytes
        return exact
    }

    /// Queues bytes as they are, behind the gathered ones.
    mutating func appendWhole(_ bytes: [UInt8]) {
        sealTail()
        chunks.append(bytes)
        chunkByteCount += bytes.count
    }

    /// Sends as much as the socket takes.
    ///
    /// - Returns: whether everything is out.
    mutating func send(to socket: Session.Socket) throws(TLSError) -> Bool {
        if chunks.isEmpty {
            guard try sendTail(to: socket) else { return false }
            return true
        }
        sealTail()
        while sentChunkCount < chunks.count {
            let result = try socket.sendVector(chunks[sentChunkCount...], from: sentByteCount)
            guard case .wrote(let count) = result else { return false }
            advance(by: count)
        }
        chunks.removeAll(keepingCapacity: chunks.capacity <= 64)
        sentChunkCount = 0
        return true
    }

    private mutating func sendTail(to socket: Session.Socket) throws(TLSError) -> Bool {
        guard !tail.isEmpty else { return true }
        guard case .wrote(let count) = try socket.send(contentsOf: tail) else { return false }
        if count == tail.count {
            tail.removeAll(keepingCapacity: tail.capacity <= Self.retainedByteCountMax)
            return true
        }
        sealTail()
        sentByteCount = count
        return false
    }

    private mutating func sealTail() {
        guard !tail.isEmpty else { return }
        chunks.append(tail)
        chunkByteCount += tail.count
        tail = []
    }

    private mutating func advance(by count: Int) {
        var left = count
        while left > 0 {
            let rest = chunks[sentChunkCount].count - sentByteCount
            if left < rest {
                sentByteCount += left
                return
            }
            left -= rest
            chunkByteCount -= chunks[sentChunkCount].count
            // Lets go of the bytes at once: they may be many.
            chunks[sentChunkCount] = []
            sentChunkCount += 1
            sentByteCount = 0
        }
    }
}
