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
    /// Writes bytes at a place of a file, with one call.
    ///
    /// They are with the kernel when this returns: they outlive the process, not the machine.
    ///
    /// - Throws: ENOSPC, EIO.
    /// - Thread: any.
    /// - Blocks: hardly: for room in the kernel's memory, not for the disk.
    /// - Source: pwrite(2).
    package borrowing func write(_ bytes: [UInt8], at offset: Int) throws(SystemError) {
        let number = number
        try retrying("pwrite") {
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe pwrite(number, bytes.baseAddress, bytes.count, off_t(offset))
            }
        }
    }
}
