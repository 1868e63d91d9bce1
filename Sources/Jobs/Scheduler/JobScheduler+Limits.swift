// The limits of waiting jobs, for a group and in all, by number and by size; and when a refused
// client may come back, judged by how fast jobs have ended lately.

internal import Wording

/// How fast the jobs of a group end.
struct EndRate {
    /// How long a measured stretch is at least.
    private static let stretchMilliseconds: Int64 = 2_000

    private var before: (at: Int64, count: Int)
    private var latest: (at: Int64, count: Int)
    /// How many attempts have ended with a result or a failure.
    var count = 0

    /// - Parameter now: the moment at which no job had ended.
    init(at now: Int64) {
        before = (now, 0)
        latest = before
    }

    /// Jobs per second.
    mutating func perSecond(at now: Int64) -> Double {
        if now - latest.at >= Self.stretchMilliseconds {
            before = latest
            latest = (now, count)
        }
        return Double(count - before.count) * 1_000 / Double(max(1, now - before.at))
    }

    /// After how many seconds so many jobs will have ended.
    static func seconds(until count: Int, at rate: Double) -> Int {
        guard rate > 0 else { return secondsMax }
        return max(1, Int(min(Double(secondsMax), (Double(count) / rate).rounded(.up))))
    }

    /// The longest wait that is advised: things change.
    static let secondsMax = 60
    /// A client that comes back finds this share of the waiting jobs gone.
    static let goneShare = 16
}

extension JobScheduler {
    /// How many jobs of a group are parked.
    private func parkedCount(of group: ThreadGroup) -> Int {
        parkedCount > 0 ? group.load.parkedSum.count : 0
    }

    /// How many jobs of a group have been accepted and have not begun.
    package func waitingCount(of group: ThreadGroup) -> Int {
        environment.waitingCount(of: group) + group.keptBackCount + parkedCount(of: group)
    }

    /// The number of jobs that wait for the threads of a group, in memory or not, without delayed
    /// ones.
    package func shownWaitingCount(of group: ThreadGroup) -> Int {
        environment.waitingCount(of: group) + group.load.parked(.waiting).count
            + group.inLineCount + group.heldUpCount + group.suspendedCount
    }

    /// Keeps within other limits from now on, in memory and in the store; jobs that wait stay.
    package mutating func limit(_ limits: StoreLimits) {
        guard limits != book.limits else { return }
        book.limit(limits)
        book.expire(at: now.unixMilliseconds)
        keep(.limit(limits))
    }

    /// Finds out whether one more stored job of this size may wait.
    mutating func checkLimits(_ byteCount: Int, of group: ThreadGroup) throws(JobError) {
        let bytes = group.load.all.byteCount
        if bytes + byteCount > group.maxQueuedByteCount {
            throw full(
                "thread \(group.name) holds \(counted(bytes, "byte")) of waiting jobs, its limit",
                group)
        }
        try checkLimits(byteCount)
    }

    /// Finds out whether one more job of this size may wait, among all in memory and in the store.
    mutating func checkLimits(_ byteCount: Int) throws(JobError) {
        let parked = queues.load.parkedSum
        let count = book.activeCount + parked.count
        if count >= book.limits.liveCountMax {
            throw full("\(counted(count, "job")) waiting, the limit", nil)
        }
        let allBytes = book.liveByteCount + parked.byteCount
        if allBytes + byteCount > book.limits.liveByteCountMax {
            throw full("\(counted(allBytes, "byte")) of jobs waiting, the limit", nil)
        }
    }

    /// Why there is no room, and when to come back.
    ///
    /// - Parameter group: whose limit it is; nil for that of all together.
    mutating func full(_ reason: String, _ group: ThreadGroup?) -> JobError {
        var rate = 0.0
        var waiting = 0
        for group in group.map({ [$0] }) ?? served.groups {
            rate += group.ends.perSecond(at: now.unixMilliseconds)
            waiting += waitingCount(of: group)
        }
        let gone = max(1, waiting / EndRate.goneShare)
        return .full(reason: reason, retryAfterSeconds: EndRate.seconds(until: gone, at: rate))
    }
}
