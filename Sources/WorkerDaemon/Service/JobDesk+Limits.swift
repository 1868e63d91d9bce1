// How much may wait, for a thread and in all, by number and by size; and when who is refused may come
// back, judged by how fast jobs have ended lately.

internal import Jobs
internal import Kernel
internal import Synchronization
internal import Wording

/// How fast the jobs of a lane end.
struct EndRate {
    /// How long a measured stretch is at least.
    private static let stretchMilliseconds: Int64 = 2_000

    private var before: (at: Int64, count: Int)
    private var latest: (at: Int64, count: Int)

    /// - Parameter now: the moment at which no job had ended.
    init(at now: Int64) {
        before = (now, 0)
        latest = before
    }

    /// Jobs per second, now that so many have ended.
    mutating func perSecond(_ count: Int, at now: Int64) -> Double {
        if now - latest.at >= Self.stretchMilliseconds {
            before = latest
            latest = (now, count)
        }
        return Double(count - before.count) * 1_000 / Double(max(1, now - before.at))
    }

    /// After how many seconds a part of what waits will have ended.
    static func seconds(until count: Int, at rate: Double) -> Int {
        guard rate > 0 else { return secondsMax }
        return max(1, Int(min(Double(secondsMax), (Double(count) / rate).rounded(.up))))
    }

    /// What is said at most: things change.
    static let secondsMax = 60
    /// Somebody who comes back finds so much of what waited gone.
    static let goneShare = 16
}

extension JobDesk {
    /// Finds out whether one more durable job of this size may wait.
    func checkLimits(
        _ byteCount: Int, of lane: Lane, _ laneLoad: JobLoad, _ load: JobLoad
    ) throws(JobError) {
        let bytes = laneLoad.all.byteCount
        if bytes + byteCount > lane.maxQueuedByteCount {
            throw full(
                "thread \(lane.name) holds \(counted(bytes, "byte")) of waiting jobs, its limit",
                lane)
        }
        let count = live.count + load.parkedSum.count
        if count >= waitingMax.count {
            throw full("\(counted(count, "job")) waiting, the limit", nil)
        }
        let allBytes = store.liveByteCount + load.parkedSum.byteCount
        if allBytes + byteCount > waitingMax.byteCount {
            throw full("\(counted(allBytes, "byte")) of jobs waiting, the limit", nil)
        }
    }

    /// Why there is no room, and when to come back.
    ///
    /// - Parameter lane: whose limit it is; nil for that of all together.
    func full(_ reason: String, _ lane: Lane?) -> JobError {
        let now = wall.unixMilliseconds()
        var rate = 0.0
        var waiting = 0
        for lane in lane.map({ [$0] }) ?? lanes {
            let ended = lane.members.reduce(0) {
                $0 + $1.doneCount.load(ordering: .relaxed) + $1.failedCount.load(ordering: .relaxed)
            }
            rate += endRates[lane.name, default: EndRate(at: startedAt)].perSecond(ended, at: now)
            waiting += waitingCount(of: lane)
        }
        let gone = max(1, waiting / EndRate.goneShare)
        return .full(
            reason: reason, retryAfterSeconds: EndRate.seconds(until: gone, at: rate))
    }
}
