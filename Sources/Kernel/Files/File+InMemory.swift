// A file that is nowhere but in memory: to be handed over whole, whatever becomes of
// us.

internal import CLinux
internal import Glibc

extension File {
    /// Makes a file without a name that has these bytes and never others; it is read from its
    /// beginning.
    ///
    /// It is in memory as long as a descriptor of it is open, in this process or in another one.
    ///
    /// - Parameter label: what it is called in `/proc/PID/fd`; up to 249 bytes.
    /// - Throws: EMFILE, ENFILE, ENOMEM; EFBIG where this process may write no file of that size.
    /// - Thread: any.
    /// - Blocks: never; the bytes are copied.
    /// - Source: memfd_create(2), fcntl(2), F_ADD_SEALS.
    package static func inMemory(
        _ bytes: [UInt8], label: String
    ) throws(SystemError) -> Descriptor {
        let file = try makeInMemory(label)
        do throws(SystemError) {
            try file.write(everything: bytes)
        } catch {
            throw SystemError(operation: "write \(label)", errno: error.errno)
        }
        let number = file.number
        try retrying("lseek") { lseek(number, 0, SEEK_SET) }
        let result = clinux_seal(number)
        if result < 0 { throw SystemError(operation: "seal \(label)", errno: -result) }
        return file
    }

    private static func makeInMemory(_ label: String) throws(SystemError) -> Descriptor {
        var number = unsafe clinux_memory_file(label, clinux_never_executable())
        if number == -EINVAL { number = unsafe clinux_memory_file(label, 0) }
        guard number >= 0 else {
            throw SystemError(operation: "memfd_create \(label)", errno: -number)
        }
        return Descriptor(owning: number)
    }
}
