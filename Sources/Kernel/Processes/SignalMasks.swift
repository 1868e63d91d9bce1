// Which threads of this process a signal may still come to.

extension Signal {
    /// The names of the threads of this process that do not block all of these signals.
    ///
    /// One such thread is enough for a signal that is sent to the process to have its effect.
    /// Threads that start or end meanwhile may be passed over.
    ///
    /// - Throws: ENOENT where there is no `/proc`; EMFILE.
    /// - Thread: any.
    /// - Blocks: never for long.
    /// - Complexity: O(threads).
    /// - Source: proc(5), `/proc/PID/status`: SigBlk.
    package static func threadsLettingIn(
        _ signals: Set<Signal>
    ) throws(SystemError) -> [String] {
        let all = signals.reduce(UInt64(0)) { $0 | 1 << UInt64($1.number - 1) }
        let tasks = "/proc/self/task"
        var names: [String] = []
        for task in try Directory.names(in: tasks) {
            guard let bytes = try? File.read("\(tasks)/\(task)/status", atMost: statusByteCountMax)
            else { continue }
            let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
            guard let blocked = value(of: "SigBlk", in: lines).flatMap({ UInt64($0, radix: 16) }),
                blocked & all != all
            else { continue }
            names.append(value(of: "Name", in: lines) ?? task)
        }
        return names
    }

    /// Some 60 lines, of which one grows with the machine's processors.
    private static let statusByteCountMax = 64 << 10

    private static func value(of key: String, in lines: [Substring]) -> String? {
        lines.first { $0.hasPrefix("\(key):\t") }.map { String($0.dropFirst(key.count + 2)) }
    }
}
