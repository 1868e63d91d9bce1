// A file as memory: what is stored there is with the kernel at once and outlives the process,
// without a call for each of it. A store that the disk has no room for, or a file system that has
// failed, would end the process (SIGBUS): such a page is replaced by memory that no other process
// sees (CLinux/filememory.h).

internal import CLinux
internal import Glibc
internal import Synchronization

/// The words of a file that stay readable for others when this process has died.
///
/// Its room on the disk is taken when it is made. What can't be brought to the file all the same,
/// since the file system has failed or never writes in place, is lost in silence.
///
/// - Thread: any thread.
@safe
package final class FileMemory: Sendable {
    /// Done once in a process: no store ends it from then on.
    private static let isGuarded = clinux_install_bus_handler() == 0

    // SAFETY: what is behind the pointer is atomic, and there until the end of this object.
    private nonisolated(unsafe) let words: UnsafeMutablePointer<Atomic<UInt64>>
    /// How many words there are.
    package let count: Int
    private let path: String
    private let identity: File.Identity

    /// Makes a file of zeros that is not there, and fails if something is.
    ///
    /// A link in its place is not followed.
    ///
    /// - Parameter mode: its mode bits; the process's umask takes its part.
    /// - Throws: EEXIST, EACCES, ENOENT (no such directory); ENOSPC, so that it can't come later.
    /// - Blocks: for the disk.
    /// - Source: posix_fallocate(3), mmap(2).
    package init(zeros count: Int, to path: String, mode: UInt32) throws(SystemError) {
        let byteCount = count * MemoryLayout<UInt64>.size
        require(Self.isGuarded, "sigaction takes SIGBUS")
        let descriptor = try File.open(
            "make \(path)", path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
        identity = try File.identity(of: descriptor, path)
        self.path = path
        var code = EINTR
        while code == EINTR { code = posix_fallocate(descriptor.number, 0, off_t(byteCount)) }
        guard code == 0 else { throw SystemError(operation: "take room for \(path)", errno: code) }
        let memory = unsafe mmap(
            nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.number, 0)
        guard let memory = unsafe memory, unsafe memory != MAP_FAILED else {
            throw SystemError.last("mmap \(path)")
        }
        unsafe words = memory.bindMemory(to: Atomic<UInt64>.self, capacity: count)
        self.count = count
    }

    /// Removes the file, unless there is another one at its path by now.
    ///
    /// - Throws: EACCES.
    /// - Blocks: for the disk.
    package func removeFile() throws(SystemError) {
        guard try File.identity(of: path) == identity else { return }
        try File.remove(path)
    }

    /// Waits until what was stored is on the disk.
    ///
    /// - Throws: EIO, ENOSPC.
    /// - Thread: any.
    /// - Blocks: for the disk.
    /// - Source: msync(2), MS_SYNC.
    package func sync() throws(SystemError) {
        let byteCount = count * MemoryLayout<UInt64>.size
        try retrying("msync \(path)") { unsafe msync(words, byteCount, MS_SYNC) }
    }

    deinit { _ = unsafe munmap(UnsafeMutableRawPointer(words), count * MemoryLayout<UInt64>.size) }

    /// Stores words, the first of them last: a reader that finds it finds the others, unless
    /// another thread stores there at the same time.
    ///
    /// - Blocks: for the disk, if the page has left the memory.
    @inline(never)  // What the handler knows of a thread exists once, in this file.
    package func store(_ values: Span<UInt64>, at start: Int) {
        require(start >= 0 && start + values.count <= count, "words inside the file")
        guard !values.isEmpty else { return }
        unsafe clinux_guard(words + start, values.count * MemoryLayout<UInt64>.size)
        defer { clinux_unguard() }
        // The old words are gone before they are half of others.
        unsafe words[start].store(0, ordering: .relaxed)
        atomicMemoryFence(ordering: .releasing)
        for place in 1..<values.count {
            unsafe words[start + place].store(values[place], ordering: .relaxed)
        }
        unsafe words[start].store(values[0], ordering: .releasing)
    }
}

extension File {
    /// Reads a file of words as `FileMemory` leaves it, so many at a time; the last part may have
    /// fewer.
    ///
    /// A link is not followed.
    ///
    /// - Returns: how many bytes were read; those that make no word were not looked at.
    /// - Throws: ENOENT, EACCES, EISDIR, ELOOP (a link).
    /// - Blocks: for the disk; never for a named pipe.
    @discardableResult
    package static func readWords(
        of path: String, inParts count: Int, _ body: (Span<UInt64>) -> Void
    ) throws(SystemError) -> Int {
        let descriptor = try open(
            "open \(path)", path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        var sum = 0
        var part = [UInt64](repeating: 0, count: count)
        while true {
            let number = descriptor.number
            let byteCount = try retrying("read \(path)") {
                unsafe part.withUnsafeMutableBytes { bytes in
                    unsafe Glibc.read(number, bytes.baseAddress, bytes.count)
                }
            }
            sum += byteCount
            let wordCount = byteCount / MemoryLayout<UInt64>.size
            if wordCount > 0 { body(part.span.extracting(0..<wordCount)) }
            guard byteCount == count * MemoryLayout<UInt64>.size else { return sum }
        }
    }
}
