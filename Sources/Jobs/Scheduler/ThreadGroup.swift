// The threads and selectors that a scheduler serves, as far as it has to know them: names and
// limits. What a thread or a handler is made of is the driver's.

/// A thread of the configuration, or a pool of threads.
///
/// Confined to its scheduler.
package final class ThreadGroup {
    /// The name by which any of its threads is addressed.
    package let name: String
    /// The names of its threads: `name` itself, or `name/1` to `name/n`.
    package internal(set) var memberNames: [String] {
        get { unsafe uncheckedMemberNames }
        set { unsafe uncheckedMemberNames = newValue }
    }
    /// The names under which its jobs wait that are for any of its threads: its own name, or the
    /// names of its slots if it is spread.
    package let slots: [String]
    /// How many jobs without a key were given slots.
    var slotTurn = 0
    /// How many jobs may wait for it.
    package internal(set) var maxQueued: Int {
        get { unsafe uncheckedMaxQueued }
        set { unsafe uncheckedMaxQueued = newValue }
    }
    /// How many bytes of payload they may have together.
    package internal(set) var maxQueuedByteCount: Int
    /// Whether its threads are there.
    package internal(set) var isServed = true
    /// Whether nothing is offered to it: its threads change.
    var isSuspended = false { didSet { noteKeepingBack() } }
    /// The units of it that are drained: none of their jobs is offered.
    var drained: Set<String> = [] { didSet { noteKeepingBack() } }
    /// Jobs whose turn has come meanwhile or before, in any order; others among them have left.
    var suspended: [JobEntry] = []
    /// Its place among the groups that the scheduler was given.
    package let index: Int
    /// How many stored jobs wait for it.
    let load = JobLoad()
    /// How many of its jobs in memory are not offered; changed by `JobEntry.move` only.
    package var keptBackCount: Int { unsafe uncheckedKeptBackCount }
    /// How many of these wait for parked jobs; changed by `JobEntry.move` only.
    private(set) var inLineCount = 0
    /// How many of these are suspended; changed by `JobEntry.move` only.
    private(set) var suspendedCount = 0
    /// How many of these wait behind a job that is tried again; changed by `JobEntry.move` only.
    package private(set) var heldUpCount = 0
    // SAFETY: confined to the scheduler's thread, and no access calls out to anything.
    @exclusivity(unchecked) private var uncheckedMemberNames: [String]
    @exclusivity(unchecked) private var uncheckedMaxQueued: Int
    /// Whether it is suspended, or some of its units are drained.
    @exclusivity(unchecked) private var uncheckedKeepsBack = false
    @exclusivity(unchecked) private var uncheckedKeptBackCount = 0
    @exclusivity(unchecked) private var uncheckedEnds: EndRate
    /// Its jobs in memory that were collected and not released, in order; others among them have
    /// left.
    private(set) var buffered: [JobID] = []
    /// How many of them have not left; changed by `JobEntry.move` only.
    private var bufferedCount = 0
    /// So many are never looked through.
    private static let sweptCountMin = 16
    /// Its waiting jobs by age; nil unless they are noted.
    var oldestWaiting: OldestWaiting?
    var ends: EndRate {
        _read { yield unsafe uncheckedEnds }
        _modify { yield unsafe &uncheckedEnds }
    }

    package init(
        name: String, memberNames: [String], slotCount: Int = 1, maxQueued: Int,
        maxQueuedByteCount: Int, index: Int, startedAt: Int64
    ) {
        self.index = index
        self.name = name
        slots = (0..<slotCount).map { PoolSlot.name($0, of: name) }
        unsafe uncheckedMemberNames = memberNames
        unsafe uncheckedMaxQueued = maxQueued
        self.maxQueuedByteCount = maxQueuedByteCount
        unsafe uncheckedEnds = EndRate(at: startedAt)
    }

    /// The thread, pool or slot with whose owner the jobs of a queue are: `pool` of `pool/3`, and a
    /// slot's name itself.
    package static func name(of thread: String) -> String { String(thread.prefix { $0 != "/" }) }

    /// Its own name, and the names of its threads and slots.
    var names: [String] { names(ofUnit: name) + slots.dropFirst() }

    /// The names of queues that have one owner.
    ///
    /// - Parameter unit: the group's name, which is that of its first slot, or another slot's.
    func names(ofUnit unit: String) -> [String] {
        unit == name ? [name] + memberNames.filter { $0 != name } : [unit]
    }

    /// Whether a name of this group is that of one thread.
    func isOneThread(_ thread: String) -> Bool { memberNames.count == 1 || thread != name }

    /// Whether a command for `thread`, a name of this group, means jobs of the queues of `other`.
    func addresses(_ other: String, by thread: String) -> Bool {
        if thread == name || thread == other { return true }
        return PoolSlot.isOne(thread)
            && ThreadGroup.name(of: other) == PoolSlot.stored(thread)
    }

    /// Whether a job of it is not offered although its turn has come.
    func keepsBack(_ job: JobEntry) -> Bool {
        unsafe uncheckedKeepsBack && (isSuspended || drained.contains(job.unit))
    }

    private func noteKeepingBack() {
        unsafe uncheckedKeepsBack = isSuspended || !drained.isEmpty
    }

    /// Collects a job.
    func buffer(_ job: JobEntry) {
        job.move(to: .buffered)
        buffered.append(job.id)
    }

    /// Forgets the collected jobs that have left, once they are as many as the others.
    ///
    /// - Complexity: O(1) on average: half of the jobs that are looked at are forgotten.
    func sweepBuffered(_ isBuffered: (JobID) -> Bool) {
        guard buffered.count > max(Self.sweptCountMin, 2 * bufferedCount) else { return }
        buffered.removeAll { !isBuffered($0) }
    }

    /// Takes out collected jobs.
    ///
    /// - Parameter job: the job of a number, if it is collected; nil else.
    func takeBuffered(
        _ job: (JobID) -> JobEntry?, where isTaken: (JobEntry) -> Bool
    ) -> [JobEntry] {
        var taken: [JobEntry] = []
        buffered.removeAll { id in
            guard let job = job(id) else { return true }
            guard isTaken(job) else { return false }
            taken.append(job)
            return true
        }
        return taken
    }

    fileprivate func count(_ place: JobPlace, _ more: Int) {
        switch place {
        case .outside, .offered: return
        case .committing, .delayed: break
        case .buffered: bufferedCount += more
        case .suspended: suspendedCount += more
        case .inLine: inLineCount += more
        case .heldUp: heldUpCount += more
        }
        unsafe uncheckedKeptBackCount += more
    }
}

extension JobEntry {
    /// Moves the job to another place: the one function that changes the counts of its group.
    func move(to next: JobPlace) {
        if case .heldUp(let holdUp) = place { holdUp.forget(id) }
        group.count(place, -1)
        group.count(next, 1)
        place = next
    }

    /// The thread, pool or slot with whose owner it is.
    var unit: String { slot == thread ? group.name : slot }
}

/// A name for which there is a handler.
package final class JobSelector {
    package let name: String
    /// The options of its jobs where a client gives none.
    package let defaults: SharedJobOptions
    /// Its place among the selectors that the scheduler was given.
    package let index: Int

    package init(name: String, index: Int, defaults: SharedJobOptions = SharedJobOptions()) {
        self.index = index
        self.name = name
        self.defaults = defaults
    }
}

/// The groups and selectors of a scheduler, by their names.
struct ServedNames {
    /// All that were ever served, each at its index.
    private(set) var groups: [ThreadGroup]
    /// All that were ever served, each at its index.
    private(set) var allSelectors: [JobSelector]
    /// The selectors that were served and are not now.
    private(set) var closedSelectors: Set<String> = []
    var releases = Releases()
    private var groupsByThread: [String: ThreadGroup] = [:]
    /// Whether a group is spread over slots.
    private(set) var hasSlots = false
    private var selectorsByName: [String: JobSelector] = [:]
    /// The results of the latest look-ups: most clients name the same thread and selector again and
    /// again.
    private var recentGroup: (thread: String, group: ThreadGroup)?
    private var recentSelector: JobSelector?
    private var recentDetails: (options: SharedJobOptions, details: JobDetails)?

    init(_ groups: [ThreadGroup], _ selectors: [JobSelector]) {
        self.groups = groups
        allSelectors = selectors
        selectorsByName = Dictionary(uniqueKeysWithValues: selectors.map { ($0.name, $0) })
        indexThreads()
    }

    private mutating func indexThreads() {
        groupsByThread = [:]
        recentGroup = nil
        hasSlots = groups.contains { $0.slots.count > 1 }
        for group in groups where group.isServed {
            for name in group.names { groupsByThread[name] = group }
            if group.slots.count > 1 { groupsByThread[PoolSlot.alias(0, of: group.name)] = group }
        }
    }

    // MARK: - Changes

    /// Serves a group with these threads from now on: a new one, or one that was served before.
    mutating func serve(_ group: ThreadGroup, memberNames: [String]) {
        if group.index == groups.count { groups.append(group) }
        group.memberNames = memberNames
        group.isServed = true
        indexThreads()
    }

    mutating func remove(_ group: ThreadGroup) {
        group.isServed = false
        indexThreads()
    }

    /// The group of a name, served or not.
    func group(named name: String) -> ThreadGroup? { groups.first { $0.name == name } }

    /// The group that has the queues of one owner.
    func group(ofUnit unit: String) -> ThreadGroup? { group(named: PoolSlot.shown(unit)) }

    /// Serves these selectors and no others from now on.
    ///
    /// One that was served before keeps its index.
    mutating func serve(_ selectors: [String: SharedJobOptions]) {
        let known = Dictionary(uniqueKeysWithValues: allSelectors.map { ($0.name, $0.index) })
        selectorsByName = [:]
        for (name, defaults) in selectors.sorted(by: { $0.key < $1.key }) {
            let index = known[name] ?? allSelectors.count
            let selector = JobSelector(name: name, index: index, defaults: defaults)
            if index == allSelectors.count {
                allSelectors.append(selector)
            } else {
                allSelectors[index] = selector
            }
            selectorsByName[name] = selector
        }
        closedSelectors = Set(allSelectors.map(\.name)).subtracting(selectors.keys)
        (recentSelector, recentDetails) = (nil, nil)
    }

    /// The selectors for which there are handlers.
    var selectors: [JobSelector] { allSelectors.filter { selectorsByName[$0.name] != nil } }

    /// Whether the jobs of a selector that are not in memory are counted as parked.
    func countsAsParked(_ selector: String) -> Bool {
        knownSelector(selector) != nil || closedSelectors.contains(selector)
    }

    // MARK: - Names

    /// The group of a thread or pool.
    func knownGroup(of thread: String) -> ThreadGroup? {
        if let recentGroup, recentGroup.thread == thread { return recentGroup.group }
        return groupsByThread[thread]
    }

    /// The group of a thread or pool.
    mutating func group(of thread: String) throws(JobError) -> ThreadGroup {
        if let recentGroup, recentGroup.thread == thread { return recentGroup.group }
        guard let group = groupsByThread[thread] else { throw JobError.unknownThread(thread) }
        recentGroup = (thread, group)
        return group
    }

    func knownSelector(_ name: String) -> JobSelector? {
        if let recentSelector, recentSelector.name == name { return recentSelector }
        return selectorsByName[name]
    }

    mutating func selector(_ name: String) throws(JobError) -> JobSelector {
        if let recentSelector, recentSelector.name == name { return recentSelector }
        guard let selector = selectorsByName[name] else { throw JobError.unknownSelector(name) }
        recentSelector = selector
        return selector
    }

    /// The fixed part of a job: mostly the same as that of the job before.
    mutating func details(
        of request: borrowing JobRequest, _ selector: JobSelector, uniqueUntil: Int64? = nil
    ) -> JobDetails {
        if uniqueUntil == nil, let (options, details) = recentDetails, options == request.options,
            details.areThose(of: request)
        {
            return details
        }
        let details = JobDetails(
            request, defaults: selector.defaults, uniqueUntil: uniqueUntil)
        if uniqueUntil == nil { recentDetails = (request.options, details) }
        return details
    }
}
