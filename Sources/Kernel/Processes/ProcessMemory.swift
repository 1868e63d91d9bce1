// The memory of other processes, and which of them are in which group.

internal import CLinux
internal import Glibc

/// The memory of a process, and the processes of groups.
package enum ProcessMemory {
    /// The processes of each process group at one moment.
    ///
    /// - Throws: ENOENT where there is no `/proc`; EMFILE.
    /// - Thread: any.
    /// - Blocks: never for long.
    /// - Complexity: O(processes).
    /// - Source: getpgid(2).
    package static func groups() throws(SystemError) -> [Int: [Int]] {
        var groups: [Int: [Int]] = [:]
        for name in try Directory.names(in: "/proc") {
            guard let processID = pid_t(name) else { continue }
            let group = getpgid(processID)
            if group > 0 { groups[Int(group), default: []].append(Int(processID)) }
        }
        return groups
    }

    /// The memory that a process occupies, shared pages in full; nil once it has ended.
    ///
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: proc(5), `/proc/PID/statm`.
    package static func residentBytes(of processID: Int) -> Int? {
        let bytes = try? File.read("/proc/\(processID)/statm", atMost: 4_096)
        guard let fields = bytes?.split(separator: UInt8(ascii: " ")), fields.count > 1 else {
            return nil
        }
        return Int(String(decoding: fields[1], as: UTF8.self)).map {
            $0 * sysconf(CInt(_SC_PAGESIZE))
        }
    }

    /// The memory that a process occupies, of a page that several processes share its part only.
    ///
    /// The kernel walks through all pages for it.
    ///
    /// - Returns: nil once it has ended, and if this user may not know.
    /// - Thread: any.
    /// - Blocks: for milliseconds, by the size of the process.
    /// - Source: proc(5), `/proc/PID/smaps_rollup`.
    package static func proportionalBytes(of processID: Int) -> Int? {
        let bytes = try? File.read("/proc/\(processID)/smaps_rollup", atMost: 1 << 16)
        for line in String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n")
        where line.hasPrefix("Pss:") {
            let fields = line.split(separator: " ")
            return fields.count > 1 ? Int(fields[1]).map { $0 << 10 } : nil
        }
        return nil
    }
}
