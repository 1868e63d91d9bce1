// The kernel's counts for each thread of a process: context switches and time on a cpu.

internal import Kernel

/// Counts of some threads, summed.
struct TaskCounts {
    var contextSwitches = 0
    var cpuNanoseconds = 0

    /// Sums over the live threads of a process; a thread that ends meanwhile is left out.
    ///
    /// - Source: proc(5), `/proc/pid/task/tid/status` and `schedstat`.
    static func sum(process: String = "self", of tasks: Set<String>? = nil) -> TaskCounts {
        var counts = TaskCounts()
        for task in tasks ?? names(process: process) {
            let directory = "/proc/\(process)/task/\(task)"
            for line in text("\(directory)/status").split(separator: "\n")
            where line.contains("ctxt_switches") {
                counts.contextSwitches += Int(line.split(separator: "\t").last ?? "") ?? 0
            }
            let times = text("\(directory)/schedstat").split(separator: " ")
            counts.cpuNanoseconds += times.first.flatMap { Int($0) } ?? 0
        }
        return counts
    }

    /// The names of the live threads.
    static func names(process: String = "self") -> Set<String> {
        Set((try? Directory.names(in: "/proc/\(process)/task")) ?? [])
    }

    private static func text(_ path: String) -> String {
        guard let bytes = try? File.read(path, atMost: 1 << 16) else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func - (left: TaskCounts, right: TaskCounts) -> TaskCounts {
        TaskCounts(
            contextSwitches: left.contextSwitches - right.contextSwitches,
            cpuNanoseconds: left.cpuNanoseconds - right.cpuNanoseconds)
    }
}
