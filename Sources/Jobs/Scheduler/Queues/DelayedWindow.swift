// The delayed jobs of a queue that are due next are in memory. The others, and all buffered jobs,
// are parked in the store.
//
// Invariant: a delayed job whose place is not behind the horizon is in memory. Each place is
// compared when the store's answer comes, because answers come in the order of the commands. A load
// may contain jobs that are in memory already: after a firing, the horizon is in front of some of
// them. Such a job is skipped, also if it has ended since the load began.

/// The delayed and buffered jobs of a queue.
///
/// Pure; owned by its `JobQueue`.
package struct DelayedWindow {
    /// Jobs in memory that were delayed, until their ends; due ones wait for their thread.
    private(set) var inMemory = JobAmount()
    /// Everything behind this place is parked.
    package private(set) var horizon: DueKey
    /// Jobs in memory and on the disk that are not due yet.
    private var unreleased: [JobID: Int64] = [:]
    /// Whether some of them may lie behind the horizon.
    private var mayLieBehind = false
    private var loadCount = 0
    private let window: WindowLimits
    private var isVoid = false
    private var endedMeanwhile: Set<JobID> = []

    /// - Parameter horizon: behind it, jobs may be parked.
    package init(_ window: WindowLimits, horizon: DueKey) {
        self.window = window
        self.horizon = horizon
    }

    /// Whether memory has become too full.
    var isOverfull: Bool {
        inMemory.count > window.countMax + window.countMax / 4
            || inMemory.byteCount > window.byteCountMax + window.byteCountMax / 4
    }

    /// Whether a load is under way.
    var isLoading: Bool { loadCount > 0 }

    /// Whether a job that is on the disk now comes into memory, or stays there.
    func takes(_ key: DueKey) -> Bool { key <= horizon }

    mutating func add(byteCount: Int) { inMemory += .one(byteCount) }

    /// Counts a job out that has left memory.
    ///
    /// - Returns: false if the count was too small; it is 0 then.
    mutating func remove(_ id: JobID, byteCount: Int) -> Bool {
        unreleased[id] = nil
        return inMemory.subtract(.one(byteCount))
    }

    /// Records that a load in flight must not bring a job again.
    package mutating func ended(_ id: JobID) {
        if isLoading { endedMeanwhile.insert(id) }
    }

    /// A job that had ended runs again: a load that brings it has seen that, as answers come in the
    /// order of the commands.
    package mutating func runsAgain(_ id: JobID) { endedMeanwhile.remove(id) }

    /// A job has its place and its timer.
    package mutating func placed(_ key: DueKey) {
        unreleased[key.id] = key.dueAt
        if key > horizon { mayLieBehind = true }
    }

    /// The time of a job has come.
    mutating func released(_ id: JobID) { unreleased[id] = nil }

    /// Moves the horizon nearer: the jobs that are due first keep about half of the memory.
    ///
    /// - Parameter byteCount: the size of a job's payload.
    /// - Returns: the jobs that are parked from now on.
    mutating func trim(byteCount: (JobID) -> Int) -> [JobID] {
        let byPlace = unreleased.map { DueKey(dueAt: $0.value, id: $0.key) }.sorted()
        var room = JobAmount(
            count: window.countMax * 3 / 4 - (inMemory.count - byPlace.count),
            byteCount: window.byteCountMax * 3 / 4 - inMemory.byteCount)
        for key in byPlace { room.byteCount += byteCount(key.id) }
        var keptCount = 0
        for key in byPlace {
            room -= .one(byteCount(key.id))
            guard room.count >= 0, room.byteCount >= 0 else { break }
            keptCount += 1
        }
        guard keptCount < byPlace.count else { return [] }
        let nearer = keptCount > 0 ? byPlace[keptCount - 1] : DueKey.first
        horizon = min(horizon, nearer)
        voidLoads()
        return byPlace[keptCount...].map(\.id)
    }

    /// Parked jobs become due at a moment: they are behind the horizon now.
    mutating func fired(at moment: Int64) { fired(behind: DueKey(dueAt: moment, id: JobID(0))) }

    /// Parked jobs become due behind a place.
    package mutating func fired(behind key: DueKey) {
        guard key < horizon else { return }
        horizon = key
        mayLieBehind = true
    }

    /// Parks jobs that take the room of others that are due earlier.
    ///
    /// - Returns: the jobs that are parked from now on.
    mutating func giveWay() -> [JobID] {
        guard mayLieBehind, isFull else { return [] }
        mayLieBehind = false
        return unreleased.filter { DueKey(dueAt: $0.value, id: $0.key) > horizon }.map(\.key)
            .sorted()
    }

    /// Whether there is no room for a load, and none in flight.
    var isFull: Bool { !hasRoom && !isLoading }

    /// Whether there is room for some more.
    private var hasRoom: Bool {
        inMemory.count <= window.countMax / 2 && inMemory.byteCount <= window.byteCountMax / 2
    }

    /// Whether a job that is due comes into memory at once: there is room, and none is due before.
    func takesDue(_ key: DueKey) -> Bool {
        takes(key) && inMemory.count < window.countMax && inMemory.byteCount < window.byteCountMax
    }

    /// The queue's jobs leave memory: all of them are behind the horizon.
    mutating func forget() {
        horizon = .first
        voidLoads()
    }

    // MARK: - Loads

    /// How many jobs to ask the journal for; nil if none is wanted, or some are on their way.
    mutating func nextLoad() -> (limit: Int, byteCount: Int)? {
        guard horizon < .last, !isLoading, hasRoom else { return nil }
        return beginLoad()
    }

    /// Jobs are asked for.
    package mutating func beginLoad() -> (limit: Int, byteCount: Int) {
        loadCount += 1
        return (
            max(1, min(window.loadCountMax, window.countMax - inMemory.count)),
            max(1, window.byteCountMax - inMemory.byteCount)
        )
    }

    /// Jobs of a load in flight stay parked: a later command changes parked jobs.
    mutating func voidLoads() { isVoid = isLoading }

    /// A load was answered.
    ///
    /// - Returns: the jobs that are not in memory, and whether they may come there; not if a
    ///   command has changed parked jobs since the load began.
    package mutating func loadEnded(
        _ batch: JobBatch, after key: DueKey, isInMemory: (JobID) -> Bool
    ) -> (jobs: [Job], isCurrent: Bool) {
        let isOutdated = isVoid || key != horizon
        let jobs = batch.jobs.filter { !isInMemory($0.id) && !endedMeanwhile.contains($0.id) }
        loadEnded()
        guard !isOutdated else { return (jobs, false) }
        if batch.isEnd {
            horizon = .last
        } else if let last = batch.jobs.last {
            horizon = DueKey(dueAt: last.dueAt ?? 0, id: last.id)
        }
        return (jobs, true)
    }

    /// A load failed.
    mutating func loadEnded() {
        loadCount -= 1
        guard loadCount == 0 else { return }
        isVoid = false
        endedMeanwhile = []
    }
}
