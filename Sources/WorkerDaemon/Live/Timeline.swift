// The last 15 minutes of each thread in buckets of five seconds: how many attempts and jobs ended
// in each, and how. Recorded whenever HTTP is served, so that a page that is opened sees them.
//
// A bucket takes 40 bytes, so a thread's time line 7,200, from its first end on.

internal import Jobs
internal import RESP

/// The ends on one thread, by the time at which they were.
struct Timeline {
    static let bucketMilliseconds: Int64 = 5_000
    static let bucketCount = 180
    /// The outcomes in the order of a bucket's counts.
    static let outcomes: [JobChange.Kind] = [.done, .failed, .timedOut, .cancelled, .expired]

    /// The ends within five seconds.
    private struct Bucket {
        /// Its start in Unix milliseconds, by its width.
        var number: UInt32 = 0
        /// The round in which it was changed last.
        var round: UInt32 = 0
        var counts: InlineArray<5, UInt32> = [0, 0, 0, 0, 0]
        var longestMilliseconds: UInt32 = 0
        var longestJob: UInt64 = 0
    }

    /// By number, in a ring; none before the first end.
    private var buckets: [Bucket] = []
    /// The round of the latest change; 0 for none.
    private(set) var round: UInt32 = 0

    /// The number of the bucket of a moment.
    static func number(of moment: Int64) -> UInt32 {
        UInt32(clamping: moment / bucketMilliseconds)
    }

    /// Counts an end.
    ///
    /// - Parameters:
    ///   - milliseconds: how long the attempt has run; nil if there was none.
    ///   - round: the present one.
    mutating func note(
        _ outcome: Outcome, of job: JobID, at moment: Int64, ran milliseconds: Int64?,
        round: UInt32
    ) {
        if buckets.isEmpty {
            buckets = [Bucket](repeating: Bucket(), count: Self.bucketCount)
        }
        self.round = round
        let number = Self.number(of: moment)
        let slot = Int(number) % Self.bucketCount
        if buckets[slot].number != number { buckets[slot] = Bucket(number: number) }
        buckets[slot].round = round
        buckets[slot].counts[Self.place(of: outcome)] &+= 1
        guard let milliseconds else { return }
        let longest = UInt32(clamping: milliseconds)
        if buckets[slot].longestJob == 0 || longest > buckets[slot].longestMilliseconds {
            buckets[slot].longestJob = job.number
            buckets[slot].longestMilliseconds = longest
        }
    }

    private static func place(of outcome: Outcome) -> Int {
        switch outcome {
        case .done: 0
        case .failed: 1
        case .timedOut: 2
        case .cancelled: 3
        case .expired: 4
        }
    }

    /// The buckets that were changed in a round behind this one, as they go over the wire.
    ///
    /// - Parameters:
    ///   - now: the present time; older buckets are left out.
    ///   - showsJobs: whether they name the jobs that ran longest.
    func buckets(changedBehind round: UInt32, at now: Int64, showsJobs: Bool) -> [RESPValue] {
        guard self.round > round else { return [] }
        let last = Int64(Self.number(of: now))
        let first = last - Int64(Self.bucketCount) + 1
        // Behind the last one, if the clock was set back meanwhile.
        let shown = buckets.filter { $0.round > round && Int64($0.number) >= first }
        return shown.sorted { $0.number < $1.number }.map { bucket in
            var numbers = [Int(bucket.number)]
            for place in bucket.counts.indices { numbers.append(Int(bucket.counts[place])) }
            numbers +=
                showsJobs ? [Int(bucket.longestJob), Int(bucket.longestMilliseconds)] : [0, 0]
            return .array(numbers.map { .integer($0) })
        }
    }
}

/// The time lines of all threads.
///
/// Confined to its driver's thread.
final class Timelines {
    /// With more threads, those of one pool share a line.
    static let threadCountMax = 256

    /// One for each thread, or for each pool; of a pool with several threads, one more for jobs
    /// that no thread had.
    private var lines: [Timeline] = []
    /// The line of a group's first thread.
    private var firstLines: [Int] = []
    /// The line of a group's jobs that no thread had.
    private var groupLines: [Int] = []
    /// The lines of names: threads and pools.
    private var places: [String: Int] = [:]
    /// Whether each thread has a line.
    private let areOfThreads: Bool
    /// The number of the present round.
    var round: UInt32 = 1

    /// - Parameter groups: the threads of each pool, in the scheduler's order.
    init(_ groups: [WorkerGroup]) {
        areOfThreads = groups.reduce(0) { $0 + $1.members.count } <= Self.threadCountMax
        grow(groups)
    }

    /// Has lines for more groups and members from now on: those of the names before go on.
    func grow(_ groups: [WorkerGroup]) {
        for (index, group) in groups.enumerated() {
            let members = group.members.map(\.name)
            let own = areOfThreads ? members : []
            for member in own { _ = place(of: member) }
            let shared = place(of: group.name)
            for member in members where !areOfThreads { places[member] = shared }
            if index == groupLines.count {
                firstLines.append(shared)
                groupLines.append(shared)
            }
            firstLines[index] = members.first.flatMap { places[$0] } ?? shared
            groupLines[index] = shared
        }
    }

    /// The line of a name; a new one if it has none.
    private func place(of name: String) -> Int {
        if let place = places[name] { return place }
        places[name] = lines.count
        lines.append(Timeline())
        return lines.count - 1
    }

    /// Counts an attempt that has ended.
    func note(_ completion: Completion, of group: ThreadGroup) {
        let place =
            group.memberNames.count == 1
            ? firstLines[group.index]
            : places[completion.thread] ?? groupLines[group.index]
        lines[place].note(
            completion.outcome, of: completion.job, at: completion.endedAt,
            ran: max(0, completion.endedAt - completion.startedAt), round: round)
    }

    /// Counts a job that has ended and has not begun.
    func note(_ outcome: Outcome, of id: JobID, thread: String, at moment: Int64) {
        guard let place = places[thread] else { return }
        lines[place].note(outcome, of: id, at: moment, ran: nil, round: round)
    }

    /// The line of a thread; nil if its pool's line has it.
    func line(ofThread name: String) -> Timeline? {
        areOfThreads ? places[name].map { lines[$0] } : nil
    }

    /// The line of a pool's jobs that no thread's line has; nil if each has one.
    func line(ofPool name: String, memberCount: Int) -> Timeline? {
        areOfThreads && memberCount == 1 ? nil : places[name].map { lines[$0] }
    }
}
