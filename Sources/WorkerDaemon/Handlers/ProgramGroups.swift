// Where programs run and what limits their memory: a control group for each job where workerd was
// left a tree of them, else the resident memory of the process group, which is sampled.
//
// A job's group is a directory `job-ID-ATTEMPT`. No process can leave it by itself, so every
// process that a program started is killed with it, also one that left the process group by setsid.

internal import Jobs
internal import Kernel
internal import Synchronization
internal import Wording

/// The limit of a program's memory.
enum MemoryLimit: Sendable, Equatable {
    case none
    /// All its processes together, by their control group.
    case group(byteCount: Int)
    /// The resident memory of its process group, sampled.
    case resident(byteCount: Int)
    /// The address space of each of its processes.
    case addressSpace(byteCount: Int)
}

/// The control groups of programs, and the processes whose memory is sampled.
///
/// - Thread: any thread.
final class ProgramGroups: Sendable {
    /// Where control groups can be made.
    enum Place: Sendable, Equatable {
        /// Nowhere, for this reason.
        case nowhere(String)
        case tree(ControlGroup, limitsMemory: Bool)
    }

    let place: Place
    /// Groups whose processes were killed and may not have ended yet.
    private let dying = Mutex<[ControlGroup]>([])
    private let found = Mutex<(groups: [Int: [Int]], at: Instant)>(([:], .distantPast))

    /// The time between two samples of a program's memory.
    static let period = Duration.milliseconds(100)
    /// How the names of jobs' groups begin.
    private static let prefix = "job-"
    /// The group that workerd moves into: a group that limits the groups in it may have no
    /// processes of its own.
    private static let ownName = "workerd"
    /// More groups than this are not removed later: their processes hang in the kernel.
    private static let dyingCountMax = 1_024

    init(_ place: Place) { self.place = place }

    // MARK: - The tree

    /// Finds out where control groups can be made, and prepares that place.
    ///
    /// - Parameter isCheck: changes nothing.
    /// - Throws: if the configured place is none, or can't be prepared.
    static func prepare(
        _ setting: Configuration.ControlGroups, isCheck: Bool
    ) throws(DaemonError) -> ProgramGroups {
        switch setting {
        case .none: return ProgramGroups(.nowhere("cgroup is \"none\""))
        case .automatic: return ProgramGroups(automaticPlace(isCheck: isCheck))
        case .at(let path):
            let group = ControlGroup(path: path)
            guard group.isThere else {
                throw DaemonError(
                    "cgroup: \(path) is no control group of version 2",
                    exitStatus: DaemonError.badConfiguration)
            }
            do throws(SystemError) {
                return ProgramGroups(try furnish(group, isCheck: isCheck))
            } catch {
                throw DaemonError("cgroup: \(error)", exitStatus: DaemonError.badConfiguration)
            }
        }
    }

    private static func automaticPlace(isCheck: Bool) -> Place {
        guard let own = ControlGroup.own() else {
            return .nowhere("no control groups of version 2")
        }
        // The parent: with DelegateSubgroup= systemd has moved workerd into a group already.
        guard let group = [own, own.parent].first(where: \.isDelegated) else {
            return .nowhere("its control group is not left to workerd: Delegate=yes in the unit")
        }
        do throws(SystemError) {
            return try furnish(group, isCheck: isCheck)
        } catch {
            return .nowhere("its control group can't be used: \(error)")
        }
    }

    private static func furnish(
        _ group: ControlGroup, isCheck: Bool
    ) throws(SystemError) -> Place {
        let memory = "memory"
        if isCheck { return .tree(group, limitsMemory: group.controllers.contains(memory)) }
        if ControlGroup.own() == group {
            let leaf = group.child(ownName)
            try leaf.make()
            try leaf.enter()
        }
        if group.controllers.contains(memory), !group.enabledControllers.contains(memory) {
            try group.write("+\(memory)", to: "cgroup.subtree_control")
        }
        return .tree(group, limitsMemory: group.enabledControllers.contains(memory))
    }

    /// Kills the programs that an earlier life of this daemon left running.
    ///
    /// - Thread: any, before a program of this life is started.
    func endLeftPrograms(_ log: Log) {
        guard case .tree(let tree, _) = place else { return }
        var count = 0
        for name in tree.childNames where name.hasPrefix(Self.prefix) {
            let group = tree.child(name)
            count += group.processIDs.count
            end(group)
        }
        if count > 0 {
            log.notice(
                "killed what was left in control groups of programs: \(count) "
                    + (count == 1 ? "process" : "processes"))
        }
    }

    // MARK: - A job's group

    /// Makes the group of an attempt, with the limit of its selector; nil where there are none.
    func begin(
        _ job: JobContext, _ selector: Configuration.Selector
    ) throws(SystemError) -> ControlGroup? {
        guard case .tree(let tree, _) = place else { return nil }
        removeDying()
        let group = tree.child("\(Self.prefix)\(job.id)-\(job.attempt)")
        try group.make()
        guard case .group(let byteCount) = limit(of: selector) else { return group }
        do throws(SystemError) {
            try group.write("\(byteCount)", to: "memory.max")
            // Swapped memory is no way around the limit, and one victim is no end of a program.
            if group.has("memory.swap.max") { try group.write("0", to: "memory.swap.max") }
            if group.has("memory.oom.group") { try group.write("1", to: "memory.oom.group") }
        } catch {
            end(group)
            throw error
        }
        return group
    }

    /// Kills all processes left in a group, and removes it at once or later.
    func end(_ group: ControlGroup) {
        group.kill()
        dying.withLock { if $0.count < Self.dyingCountMax { $0.append(group) } }
        removeDying()
    }

    /// Whether the kernel has killed processes of a group for want of memory.
    static func isOverLimit(_ group: ControlGroup) -> Bool {
        (group.number("oom_kill", in: "memory.events") ?? 0) > 0
    }

    private func removeDying() {
        dying.withLock { dying in
            dying.removeAll { group in
                do throws(SystemError) {
                    try group.remove()
                    return true
                } catch {
                    return !group.isThere
                }
            }
        }
    }

    // MARK: - Memory

    /// The limit of the memory of a selector's programs.
    func limit(of selector: Configuration.Selector) -> MemoryLimit {
        guard let byteCount = selector.maxMemoryBytes else { return .none }
        switch (selector.memoryLimit, place) {
        case (.addressSpace, _): return .addressSpace(byteCount: byteCount)
        case (.auto, .tree(_, limitsMemory: true)), (.cgroup, _):
            return .group(byteCount: byteCount)
        case (.auto, _), (.resident, _): return .resident(byteCount: byteCount)
        }
    }

    /// Refuses selectors that want a limit which there is not.
    func check(_ selectors: [Configuration.Selector]) throws(DaemonError) {
        var isLimiting = false
        if case .tree(_, limitsMemory: true) = place { isLimiting = true }
        let wanting = selectors.first { $0.memoryLimit == .cgroup && $0.maxMemoryBytes != nil }
        guard let wanting, !isLimiting else { return }
        throw DaemonError(
            "selectors.\(wanting.name).memoryLimit is \"cgroup\", and there is none: \(reason)",
            exitStatus: DaemonError.badConfiguration)
    }

    private var reason: String {
        switch place {
        case .nowhere(let reason): reason
        case .tree(let tree, limitsMemory: false): "\(tree.path) has no memory controller"
        case .tree(let tree, limitsMemory: true): tree.path
        }
    }

    /// The limits in force for the selectors that limit memory, a line for each.
    func descriptions(of selectors: [Configuration.Selector]) -> [String] {
        selectors.compactMap { selector in
            switch limit(of: selector) {
            case .none: nil
            case .group:
                "selector \(selector.name): maxMemory holds for all its processes together, by "
                    + "their control group below \(reason)"
            case .resident:
                "selector \(selector.name): maxMemory holds for the resident memory of its process "
                    + "group, sampled every \(Self.period.milliseconds) ms"
                    + (selector.memoryLimit == .auto ? " (\(reason))" : "")
            case .addressSpace:
                "selector \(selector.name): maxMemory holds for the address space of each process"
            }
        }
    }

    /// The memory that a process group occupies.
    ///
    /// Pages that several of its processes share count once, as far as this user may know.
    ///
    /// - Parameter limit: below this an upper bound is enough.
    /// - Returns: nil if `/proc` can't be read.
    func residentBytes(ofGroup processGroup: Int, limit: Int, at now: Instant) -> Int? {
        guard let processes = processes(ofGroup: processGroup, at: now) else { return nil }
        let bound = processes.reduce(0) { $0 + (ProcessMemory.residentBytes(of: $1) ?? 0) }
        guard bound > limit else { return bound }
        return processes.reduce(0) { sum, process in
            let bytes =
                ProcessMemory.proportionalBytes(of: process)
                ?? ProcessMemory.residentBytes(of: process)
            return sum + (bytes ?? 0)
        }
    }

    /// One look at all processes serves all programs that are sampled at about the same time.
    private func processes(ofGroup processGroup: Int, at now: Instant) -> [Int]? {
        found.withLock { found in
            if now >= found.at.advanced(by: Self.period / 2) {
                guard let groups = try? ProcessMemory.groups() else { return nil }
                found = (groups, now)
            }
            return found.groups[processGroup] ?? []
        }
    }
}
