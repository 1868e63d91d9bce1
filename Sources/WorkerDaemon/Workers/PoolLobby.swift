// Jobs of pools that wait for a worker in another process. A single thread serves such a job,
// because the jobs behind it have to wait as well. In a pool it would occupy a member, so it waits
// here until a worker asks for its selector. Then it goes to the pool. If another job gets that
// worker first, the job comes back.
//
// All jobs with the key of such a job wait here behind it until it has ended.

internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops
internal import Structures
internal import WorkerThreads

/// Jobs of pools that wait for a worker.
///
/// Confined to the driver's thread.
final class PoolLobby {
    /// One selector's jobs in a pool.
    private struct Place: Hashable {
        let group: ObjectIdentifier
        let selector: String
    }

    private struct KeyOfPool: Hashable {
        let group: ObjectIdentifier
        let key: [UInt8]
    }

    private enum Step {
        /// Behind another job of its key.
        case behind
        /// Until a worker asks for it.
        case waiting
        /// In the queue of its pool.
        case released
        /// On a member's thread; or on the way there, if a worker of an earlier run has it.
        case arrived
    }

    private final class Entry {
        let id: JobID
        let context: JobContext
        let group: WorkerGroup
        let isForWorkers: Bool
        let key: KeyOfPool?
        /// The number of its offer.
        let turn: UInt64
        let submit: () -> Void
        /// Nil before it comes and once it is over.
        fileprivate(set) var step: Step?

        init(
            _ job: JobEntry, _ context: JobContext, _ group: WorkerGroup, isForWorkers: Bool,
            _ submit: @escaping () -> Void
        ) {
            id = job.id
            self.context = context
            self.group = group
            self.isForWorkers = isForWorkers
            key = context.options.key.map { KeyOfPool(group: ObjectIdentifier(group), key: $0) }
            turn = job.turn
            self.submit = submit
        }

        var priority: Priority { context.details.priority }
        var isOver: Bool { step == nil }
        var waits: Bool { step == .waiting || step == .behind }
        var place: Place { Place(group: ObjectIdentifier(group), selector: context.selector) }
    }

    /// A queue of jobs.
    ///
    /// Ended jobs are removed lazily: at the head, or once they are half of the queue.
    private struct Queue {
        private var entries = FIFO<Entry>()
        private var overCount = 0
        /// The least number of ended jobs that are swept out.
        private static let sweepCountMin = 64

        var isEmpty: Bool { entries.isEmpty }

        mutating func append(_ entry: Entry) { entries.append(entry) }

        mutating func popFirst() -> Entry? {
            while let entry = entries.popFirst() {
                if !entry.isOver { return entry }
                overCount -= 1
            }
            return nil
        }

        /// One of them is over.
        mutating func noteEnd() {
            overCount += 1
            guard overCount >= max(Self.sweepCountMin, entries.count / 2) else { return }
            var left = FIFO<Entry>()
            for entry in entries where !entry.isOver { left.append(entry) }
            (entries, overCount) = (left, 0)
        }
    }

    /// The jobs of one place that wait; a class, so that a change never copies the queues.
    private final class Line {
        /// A queue for each priority, by its raw value.
        var queues = Priority.allCases.map { _ in Queue() }
        /// Jobs that have come back, in their order.
        var back: [Entry] = []
        /// The number of jobs in the queue of their pool.
        var releasedCount = 0
        var isEmpty: Bool {
            queues.allSatisfy(\.isEmpty) && back.isEmpty && releasedCount == 0
        }
    }

    private let loop: ThreadRunLoop
    /// The number of waiting TAKEs of a selector.
    var takerCount: (String) -> Int = { _ in 0 }
    /// Whether a job is not to be given out yet, since it was given back.
    var isResting: (JobID) -> Bool = { _ in false }

    /// Whether a worker of an earlier run has a job that no member serves yet.
    var isInherited: (JobID) -> Bool = { _ in false }

    private var entries: [JobID: Entry] = [:]
    /// The pools with jobs that wait here, and their number.
    ///
    /// Weak: a reload replaces pools.
    private var counts: [ObjectIdentifier: (group: WorkerGroup, count: Int)] = [:]
    private var lines: [Place: Line] = [:]
    /// The jobs of a key behind the first one, which waits or is served by a member.
    private var chains: [KeyOfPool: Queue] = [:]

    init(loop: ThreadRunLoop) { self.loop = loop }

    var isEmpty: Bool { entries.isEmpty }

    /// How many jobs of a pool wait here.
    func count(of group: WorkerGroup) -> Int { counts[ObjectIdentifier(group)]?.count ?? 0 }

    /// Moves a job to another step; nil once it is over.
    private func move(_ entry: Entry, to step: Step?) {
        if entry.waits { count(entry.group, -1) }
        entry.step = step
        if entry.waits { count(entry.group, 1) }
    }

    private func count(_ group: WorkerGroup, _ more: Int) {
        let pool = ObjectIdentifier(group)
        let count = (counts[pool]?.count ?? 0) + more
        counts[pool] = count == 0 ? nil : (group, count)
    }

    /// Keeps a job that was offered to a pool, if it has to wait here.
    ///
    /// - Parameter submit: hands it to the pool.
    /// - Returns: false if it goes to the pool at once.
    func keep(
        _ job: JobEntry, _ context: JobContext, of group: WorkerGroup, isForWorkers: Bool,
        _ submit: @escaping () -> Void
    ) -> Bool {
        guard isForWorkers || !chains.isEmpty else { return false }
        // Its member has not let go of it yet, and says so of the earlier offer only.
        if let former = entries[job.id] { end(former) }
        let entry = Entry(job, context, group, isForWorkers: isForWorkers, submit)
        if let key = entry.key, chains[key] != nil {
            move(entry, to: .behind)
            chains[key]?.append(entry)
        } else {
            guard isForWorkers else { return false }
            if let key = entry.key { chains[key] = Queue() }
        }
        entries[entry.id] = entry
        listen(to: entry)
        if entry.step == nil { enter(entry) }
        return true
    }

    private func enter(_ entry: Entry) {
        if isInherited(entry.id) {
            // From its member it comes here when its worker lets go of it.
            move(entry, to: .arrived)
            return entry.submit()
        }
        move(entry, to: .waiting)
        line(entry.place).queues[entry.priority.rawValue].append(entry)
        release(entry.place)
    }

    /// Ends a job here when it is withdrawn.
    private func listen(to entry: Entry) {
        let box = Confined((lobby: self, entry: entry), to: loop)
        let loop = loop
        entry.context.onWithdraw { loop.perform { box.value.lobby.end(box.value.entry) } }
    }

    // MARK: - To the pools and back

    /// Hands jobs to their pools for the workers that ask.
    func release() {
        for place in lines.keys { release(place) }
    }

    /// The same for selectors.
    func release(_ selectors: [String]) {
        guard !lines.isEmpty else { return }
        for place in lines.keys where selectors.contains(place.selector) { release(place) }
    }

    private func release(_ place: Place) {
        guard let line = lines[place] else { return }
        while line.releasedCount < takerCount(place.selector), let entry = takeNext(line) {
            move(entry, to: .released)
            line.releasedCount += 1
            entry.submit()
        }
        if line.isEmpty { lines[place] = nil }
    }

    /// The first job of a place that may be given out.
    private func takeNext(_ line: Line) -> Entry? {
        for priority in Priority.allCases {
            let index = line.back.firstIndex { $0.priority == priority && !isResting($0.id) }
            if let index { return line.back.remove(at: index) }
            guard let entry = line.queues[priority.rawValue].popFirst() else { continue }
            guard entry.group.members.contains(where: { !$0.thread.isPaused }) else {
                comeBack(entry)
                return nil
            }
            return entry
        }
        return nil
    }

    /// The entry of an offered job; a reload may have offered the job to another pool since.
    private func offered(_ context: JobContext) -> Entry? {
        guard let entry = entries[JobID(context.id)], entry.context === context else { return nil }
        return entry
    }

    /// A member has a job, and waits for a worker for it.
    func arrived(_ context: JobContext) {
        guard let entry = offered(context), entry.step == .released else { return }
        move(entry, to: .arrived)
        lines[entry.place]?.releasedCount -= 1
    }

    /// Whether a job may go back from its member to this place.
    func mayComeBack(_ context: JobContext) -> Bool { offered(context)?.step == .arrived }

    /// A member has let go of a job that it has not ended.
    func cameBack(_ context: JobContext) {
        guard let entry = offered(context), entry.step == .arrived else { return }
        comeBack(entry)
        listen(to: entry)
    }

    private func comeBack(_ entry: Entry) {
        move(entry, to: .waiting)
        let line = line(entry.place)
        let index = line.back.firstIndex { $0.turn > entry.turn } ?? line.back.endIndex
        line.back.insert(entry, at: index)
    }

    private func line(_ place: Place) -> Line {
        if let line = lines[place] { return line }
        let line = Line()
        lines[place] = line
        return line
    }

    // MARK: - Ends

    /// An attempt of a job has ended, or it never begins.
    func end(_ context: JobContext) {
        if let entry = offered(context) { end(entry) }
    }

    private func end(_ entry: Entry) {
        guard let step = entry.step else { return }
        move(entry, to: nil)
        if entries[entry.id] === entry { entries[entry.id] = nil }
        switch step {
        case .behind:
            if let key = entry.key { chains[key]?.noteEnd() }
            return
        case .waiting:
            if let index = lines[entry.place]?.back.firstIndex(where: { $0 === entry }) {
                lines[entry.place]?.back.remove(at: index)
            } else {
                lines[entry.place]?.queues[entry.priority.rawValue].noteEnd()
            }
        case .released:
            lines[entry.place]?.releasedCount -= 1
            release(entry.place)
        case .arrived: break
        }
        guard let key = entry.key else { return }
        while let next = chains[key]?.popFirst() {
            if next.context.isWithdrawn {
                move(next, to: nil)
                if entries[next.id] === next { entries[next.id] = nil }
                continue
            }
            if next.isForWorkers { return enter(next) }
            move(next, to: nil)
            entries[next.id] = nil
            next.context.onWithdraw(nil)
            next.submit()
        }
        chains[key] = nil
    }

    /// The jobs that wait here of pools that take none any more, or of all.
    ///
    /// - Complexity: O(pools), and O(jobs that wait here) if it takes some.
    func take(where isLeft: (WorkerGroup) -> Bool) -> [JobContext] {
        guard counts.values.contains(where: { isLeft($0.group) }) else {
            return []
        }
        return entries.values.filter { $0.waits && isLeft($0.group) }.sorted { $0.id > $1.id }
            .map(\.context)
    }

    // MARK: - For people

    /// The wire's entries for a job that waits here.
    func entries(of id: JobID) -> [RESPValue.Entry]? {
        guard let known = entries[id], known.waits else { return nil }
        guard known.step == .behind, let key = known.key,
            let first = entries.values.first(where: { $0.key == key && $0.step != .behind })
        else { return [entry("waits-for", text("worker \(known.context.selector)"))] }
        return [entry("held-by", .integer(Int(first.id.number)))]
    }
}
