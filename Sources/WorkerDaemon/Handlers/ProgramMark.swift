// Programs that a daemon left running because it was killed: the next one knows them by a mark in their
// environment. Their jobs run again, and what follows on their threads runs, so they may not.

internal import Kernel
internal import Wording

/// What tells the programs of one daemon, in all its lives, from those of others.
struct ProgramMark: Sendable {
    /// The environment variable that has it.
    static let variable = "WORKERD_DAEMON"

    private let daemon: String
    /// What programs of this life have in their environment.
    let text: String

    /// How often is looked for more, which those that were found may have started meanwhile, and how
    /// long is waited for each: they are gone at once unless a broken device holds them.
    private static let roundCountMax = 20
    private static let patienceMilliseconds = 100

    /// - Parameter daemon: what no two daemons have at the same time, and a daemon keeps over restarts.
    init(daemon: String) {
        self.daemon = daemon
        // Programs are started in the session of their daemon.
        text = "\(RunningProcess.session(of: 0) ?? 0):\(daemon)"
    }

    /// Kills what an earlier life of this daemon has left running, unless it has left its session, as
    /// what was started to go on does.
    ///
    /// - Thread: any, before a program of this life is started.
    /// - Blocks: for milliseconds; up to two seconds for a process that can't be killed.
    func endLeftPrograms(_ log: Log) {
        var killed: Set<Int> = []
        var survivors: Set<Int> = []
        for _ in 0..<Self.roundCountMax {
            survivors.removeAll()
            let before = killed.count
            try? RunningProcess.forEach(with: Self.variable) { process, value in
                guard isLeft(process.processID, marked: value) else { return }
                if process.kill(timeoutMilliseconds: Self.patienceMilliseconds) {
                    killed.insert(process.processID)
                } else {
                    survivors.insert(process.processID)
                }
            }
            if survivors.isEmpty, killed.count == before { break }
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

    private func isLeft(_ processID: Int, marked value: String) -> Bool {
        guard let colon = value.firstIndex(of: ":"), value[colon...].dropFirst() == daemon,
            let session = Int(value[..<colon])
        else { return false }
        return RunningProcess.session(of: processID) == session
    }
}

extension Configuration {
    /// What no two daemons have at the same time: the file of their jobs, or a door.
    var ownPlace: String {
        store.path(in: Program.inheritedEnvironment()) ?? listen.unix
            ?? listen.tcp.map { "\($0)" } ?? ""
    }
}
