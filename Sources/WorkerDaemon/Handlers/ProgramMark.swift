// Programs that a daemon left running because it was killed: the next one knows them by a mark. Their jobs
// run again, and what follows on their threads runs, so they may not.
//
// The mark is in their environment and in the label of the file that is their standard input: who clears the
// one (`env -i`) mostly has the other. And it is that of their process group, as long as one of the group has it.

internal import Kernel
internal import Wording

/// What tells the programs of one daemon, in all its lives, from those of others.
struct ProgramMark: Sendable {
    /// The environment variable that has it.
    static let variable = "WORKERD_DAEMON"

    private let daemon: String
    /// The same in few letters.
    private let shortName: String
    /// What programs of this life have in their environment.
    let text: String
    /// What the file is called that they get as their standard input.
    let label: String

    /// How often is looked for more, which those that were found may have started meanwhile, and how
    /// long is waited for each: they are gone at once unless a broken device holds them.
    private static let roundCountMax = 20
    private static let patienceMilliseconds = 100

    /// - Parameter daemon: what no two daemons have at the same time, and a daemon keeps over restarts.
    init(daemon: String) {
        self.daemon = daemon
        shortName = Self.shortName(of: daemon)
        // Programs are started in the session of their daemon.
        let session = RunningProcess.session(of: 0) ?? 0
        text = "\(session):\(daemon)"
        label = "\(session):\(shortName)"
    }

    /// Kills what an earlier life of this daemon has left running, unless it has left its session, as
    /// what was started to go on does.
    ///
    /// - Thread: any, before a program of this life is started.
    /// - Blocks: for milliseconds; up to two seconds for a process that can't be killed.
    func endLeftPrograms(_ log: Log) {
        var killed: Set<Int> = []
        var survivors: Set<Int> = []
        // Each with the session that it was started in.
        var groups: [Int: Int] = [:]
        for _ in 0..<Self.roundCountMax {
            survivors.removeAll()
            let before = (killed.count, groups.count)
            try? RunningProcess.forEach { process in
                guard isLeft(process, in: &groups) else { return }
                if process.kill(timeoutMilliseconds: Self.patienceMilliseconds) {
                    killed.insert(process.processID)
                } else {
                    survivors.insert(process.processID)
                }
            }
            if survivors.isEmpty, before == (killed.count, groups.count) { break }
        }
        if !killed.isEmpty {
            log.notice(
                "killed what was left of programs that ran when workerd was killed before: "
                    + Self.listed(killed))
        }
        if !survivors.isEmpty {
            log.warning(
                "can't kill what is left of programs that ran when workerd was killed before: "
                    + Self.listed(survivors))
        }
    }

    private static func listed(_ processIDs: Set<Int>) -> String {
        let shown = processIDs.sorted().prefix(20).map { "\($0)" }.joined(separator: ", ")
        return counted(processIDs.count, "id") + " \(shown)" + (processIDs.count > 20 ? " …" : "")
    }

    /// Whether a process is left of a program; then its group is one of those.
    private func isLeft(_ process: borrowing RunningProcess, in groups: inout [Int: Int]) -> Bool {
        guard let group = process.group,
            let session = RunningProcess.session(of: process.processID)
        else { return false }
        let isMarked =
            isMark(process.value(of: Self.variable), of: daemon, in: session)
            || isMark(process.labelOfInput, of: shortName, in: session)
        if isMarked { groups[group] = session }
        return groups[group] == session
    }

    private func isMark(_ mark: String?, of name: String, in session: Int) -> Bool {
        mark == "\(session):\(name)"
    }

    /// A label is short, and a path need not be: FNV-1a, 64 bits.
    private static func shortName(of daemon: String) -> String {
        let sum = daemon.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { sum, byte in
            (sum ^ UInt64(byte)) &* 0x100_0000_01B3
        }
        return "workerd-" + String(sum, radix: 16)
    }
}

extension Configuration {
    /// What no two daemons have at the same time: the file of their jobs, or a door.
    ///
    /// By its real path: a restart through a symbolic link finds the programs of the life before.
    var ownPlace: String {
        let path = store.path(in: Program.inheritedEnvironment()) ?? listen.unix
        return path.map { File.realPath(of: $0) } ?? listen.tcp.map { "\($0)" } ?? ""
    }
}
