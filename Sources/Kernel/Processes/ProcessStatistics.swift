// Resources that this process has used so far, for benchmarks and for the status page.

internal import CLinux
internal import Glibc

/// The resources that this process has used.
package enum ProcessStatistics {
    /// This process's id.
    ///
    /// - Thread: any.
    /// - Source: getpid(2).
    package static var processID: Int { Int(getpid()) }

    /// The time that all threads have spent computing, in the kernel included.
    ///
    /// - Throws: nothing that a correct program meets.
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: getrusage(2), RUSAGE_SELF.
    package static func cpuNanoseconds() throws(SystemError) -> Int {
        let usage = try usage()
        let seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
        let microseconds = Int(usage.ru_utime.tv_usec) + Int(usage.ru_stime.tv_usec)
        return seconds * 1_000_000_000 + microseconds * 1000
    }

    /// The memory that the process occupies now, in bytes.
    ///
    /// - Throws: ENOENT where there is no `/proc`.
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: proc(5), `/proc/self/statm`.
    package static func residentBytes() throws(SystemError) -> Int {
        let path = "/proc/self/statm"
        let fields = try File.read(path, atMost: 4096).split(separator: UInt8(ascii: " "))
        guard fields.count > 1, let pages = Int(String(decoding: fields[1], as: UTF8.self)) else {
            throw SystemError(operation: "read \(path)", errno: EINVAL)
        }
        return pages * sysconf(CInt(_SC_PAGESIZE))
    }

    /// How many descriptors the process has open now.
    ///
    /// - Throws: ENOENT where there is no `/proc`; EMFILE.
    /// - Thread: any.
    /// - Blocks: never.
    /// - Complexity: O(open descriptors).
    /// - Source: proc(5), `/proc/self/fd`.
    package static func openDescriptorCount() throws(SystemError) -> Int {
        // The one that reads the directory is among them.
        try Directory.names(in: "/proc/self/fd").count - 1
    }

    private static func usage() throws(SystemError) -> rusage {
        var usage = rusage()
        try retrying("getrusage") { unsafe getrusage(CInt(RUSAGE_SELF.rawValue), &usage) }
        return usage
    }
}
