// Bytes on their way to the daemon: small commands gathered, large payloads as they are, without
// copying. Used by one thread at a time; knows no socket.

internal import Kernel

/// A queue of bytes in front of a socket.
struct Outbox {
    /// Payloads from this size on are sent as they are; smaller ones are cheaper to copy.
    static let wholeByteCountMin = 16 << 10

    private var chunks: [[UInt8]] = []
    /// How many of `chunks` are out, and how many bytes of the next.
    private var sentChunkCount = 0
    private var sentByteCount = 0

    /// Whether everything is out.
    var isEmpty: Bool { chunks.isEmpty }

    /// How many bytes are still to be sent.
    ///
    /// - Complexity: O(chunks).
    var byteCount: Int {
        chunks[sentChunkCount...].reduce(0) { $0 + $1.count } - sentByteCount
    }

    /// Queues a command's chunks.
    mutating func append(_ command: [[UInt8]]) {
        for chunk in command { append(chunk) }
    }

    private mutating func append(_ chunk: [UInt8]) {
        if let last = chunks.last, last.count + chunk.count <= Self.wholeByteCountMin {
            chunks[chunks.count - 1].append(contentsOf: chunk)
        } else {
            chunks.append(chunk)
        }
    }

    /// Sends as much as the socket takes.
    ///
    /// - Parameter write: writes chunks from an offset in the first one, or a part of them.
    /// - Returns: how many bytes went out.
    mutating func send<Failure>(
        by write: (ArraySlice<[UInt8]>, Int) throws(Failure) -> WriteResult
    ) throws(Failure) -> Int {
        var total = 0
        while sentChunkCount < chunks.count {
            let result = try write(chunks[sentChunkCount...], sentByteCount)
            guard case .wrote(let count) = result else {
                forgetSentChunks()
                return total
            }
            total += count
            advance(by: count)
        }
        chunks.removeAll(keepingCapacity: chunks.capacity <= 64)
        sentChunkCount = 0
        sentByteCount = 0
        return total
    }

    /// Closes up what is sent, so that a queue that is never quite empty does not grow.
    private mutating func forgetSentChunks() {
        guard sentChunkCount > chunks.count / 2 else { return }
        chunks.removeFirst(sentChunkCount)
        sentChunkCount = 0
    }

    private mutating func advance(by count: Int) {
        var left = count
        while sentChunkCount < chunks.count {
            let rest = chunks[sentChunkCount].count - sentByteCount
            if left < rest {
                sentByteCount += left
                return
            }
            left -= rest
            // Lets go of the bytes at once: they may be many.
            chunks[sentChunkCount] = []
            sentChunkCount += 1
            sentByteCount = 0
        }
    }
}
