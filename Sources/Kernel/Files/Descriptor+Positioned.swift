// Writing at a place of a file, without a position that threads would have to share.

internal import CLinux
internal import Glibc

extension File {
    /// Opens a file for writing at places of it, or makes it.
    ///
    /// - Parameter mode: the mode bits of a new file; the process's umask takes its part.
    /// - Throws: EACCES, ENOENT (no such directory), EISDIR.
    /// - Thread: any.
    /// - Blocks: for the disk.
    package static func openForWriting(
        _ path: String, mode: UInt32
    ) throws(SystemError) -> Descriptor {
        try open("open \(path)", path, O_WRONLY | O_CREAT, mode)
    }
}

extension Descriptor {
    /// Writes two numbers at a place of a file, each in eight bytes of this machine's order.
    ///
    /// It is with the kernel when this returns: it outlives the process, not the machine.
    ///
    /// - Throws: ENOSPC, EIO.
    /// - Thread: any; the pair is written in one call.
    /// - Blocks: hardly: for room in the kernel's memory, not for the disk.
    package borrowing func write(
        _ first: UInt64, _ second: UInt64, at offset: Int
    ) throws(SystemError) {
        var words = (first, second)
        let number = number
        _ = try retrying("pwrite") {
            unsafe withUnsafeBytes(of: &words) { bytes in
                unsafe pwrite(number, bytes.baseAddress, bytes.count, off_t(offset))
            }
        }
    }
}
