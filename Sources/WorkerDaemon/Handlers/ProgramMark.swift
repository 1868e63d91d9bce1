// Programs that a killed daemon has left running: the next daemon finds them by a mark. It must end
// them, because their jobs, and the jobs behind them on their threads, run again.
//
// The mark is in a program's environment and in the label of the file that is its standard input: a
// program that clears the environment (`env -i`) mostly keeps the input. The mark holds for a
// process group as long as one of its processes has it.

internal import Kernel
internal import Wording

/// The mark of one daemon's programs, in all its lives.
struct ProgramMark: Sendable {
    /// The name of the environment variable.
    static let variable = "WORKERD_DAEMON"

    private let daemon: String
    /// A short name of the daemon.
    private let shortName: String
    /// The value of the variable for programs of this life.
    let text: String
    /// The label of the file that programs get as their standard input.
    let label: String

    /// The number of searches, and the wait for each killed process.
    ///
    /// A process that was found may have started others meanwhile. It is gone at once unless a
    /// broken device holds it.
    private static let roundCountMax = 20
    private static let patienceMilliseconds = 100

    /// - Parameter daemon: a name that is unique among running daemons, and the same after a
    ///   restart.
    init(daemon: String) {
        self.daemon = daemon
        shortName = Self.shortName(of: daemon)
        // Programs are started in the session of their daemon.
        let session = RunningProcess.session(of: 0) ?? 0
        text = "\(session):\(daemon)"
        label = "\(session):\(shortName)"
    }

    /// Kills the programs that an earlier life of this daemon has left running in its session.
    ///
    /// A process that has left the session, as one that is meant to outlive the job does, stays.
    ///
    /// - Thread: any, before a program of this life is started.
    /// - Blocks: for milliseconds; up to two seconds for a process that can't be killed.
    func endLeftPrograms(_ log: Log) {
        var killed: Set<Int> = []
        var survivors: Set<Int> = []
        // Each process group with the session that it was started in.
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

    /// Whether a process is left of a program; adds its group to those.
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

    /// A hash (FNV-1a, 64 bits), because a label is short and a path need not be.
    private static func shortName(of daemon: String) -> String {
        let sum = daemon.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { sum, byte in
            (sum ^ UInt64(byte)) &* 0x100_0000_01B3
        }
        return "workerd-" + String(sum, radix: 16)
    }
}

extension Configuration {
    /// A name that is unique among running daemons: the file of their jobs or attempts, or a door.
    ///
    /// A real path: a restart through a symbolic link finds the programs of the life before.
    var ownPlace: String {
        let path: String? =
            switch storePlace(in: Program.inheritedEnvironment()) {
            case .file(let path), .database(_, attempts: let path): path
            case .memory, nil: listen.unix
            }
        return path.map { File.realPath(of: $0) } ?? listen.tcp.map { "\($0)" } ?? ""
    }
}
