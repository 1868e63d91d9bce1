// Many chunks out in one system call, without putting them together first. It knows nothing of
// the queue that they come from.

internal import CLinux
internal import Glibc

extension Descriptor {
    /// How many chunks one call takes at most; the kernel's own limit is 1,024 (IOV_MAX).
    ///
    /// 64 keeps the description of the chunks, 16 bytes each, and the call's depth small, and a
    /// reply is seldom more than a few chunks.
    package static let vectorChunkCountMax = 64

    /// Lays out the chunks and calls `body`, which stands for sendmsg(2).
    borrowing func transferVector(
        _ operation: String, _ chunks: ArraySlice<[UInt8]>, from offset: Int,
        _ body: (UnsafeMutablePointer<iovec>, Int) -> Int
    ) throws(SystemError) -> WriteResult {
        require(
            offset >= 0 && offset <= (chunks.first?.count ?? 0),
            "the offset \(offset) is in the first chunk, of \(chunks.first?.count ?? 0) bytes")
        let chunks = chunks.prefix(Descriptor.vectorChunkCountMax)
        if chunks.isEmpty { return .wrote(0) }
        do throws(SystemError) {
            let written = try unsafe withUnsafeTemporaryAllocation(
                of: iovec.self, capacity: chunks.count
            ) { (vector) throws(SystemError) in
                guard let base = vector.baseAddress else { return 0 }
                return try retrying(operation) {
                    unsafe layOut(chunks, from: offset, into: base, at: 0, body)
                }
            }
            return .wrote(written)
        } catch {
            if error.errno == EAGAIN { return .wouldBlock }
            throw error
        }
    }
}

/// Notes where each chunk lies and calls `body` while all of them stay in place.
///
/// It recurses because a chunk's address is valid only inside its own `withUnsafeBytes`; the
/// depth is bounded by `vectorChunkCountMax`.
private func layOut(
    _ chunks: ArraySlice<[UInt8]>, from offset: Int, into start: UnsafeMutablePointer<iovec>,
    at index: Int, _ body: (UnsafeMutablePointer<iovec>, Int) -> Int
) -> Int {
    if index == chunks.count { return unsafe body(start, index) }
    return unsafe chunks[chunks.startIndex + index].withUnsafeBytes { bytes in
        // writev only reads; iovec has no way to say so.
        let base = unsafe UnsafeMutableRawPointer(mutating: bytes.baseAddress)
        unsafe (start + index).initialize(
            to: iovec(
                iov_base: base.map { unsafe $0 + offset }, iov_len: bytes.count - offset))
        return unsafe layOut(chunks, from: 0, into: start, at: index + 1, body)
    }
}
