// The moments at which the scheduler does something. Its driver keeps one timer, for the first.

internal import Structures

/// The alarms of a scheduler, by the moments at which they ring.
///
/// - Complexity: O(log count) to set and to ring; O(1) to cancel and to look at the first.
package struct Alarms {
    /// The purpose of an alarm.
    enum Alarm {
        /// A delayed job is due.
        case release(JobEntry)
        /// A job in memory is too late to begin.
        case expiry(JobEntry)
        /// A parked job may be too late to begin.
        case parkedExpiry
        /// A client has waited for a job's end as long as it wanted to.
        case patience(JobID, ReplyToken, milliseconds: Int, until: Int64)
        /// The clients that observe a job are told how far it is.
        case look(JobID)
        /// A load of a queue failed a while ago.
        case loadAgain(JobQueue)
        /// Parked jobs could not be dated anew a while ago.
        case keepDue
    }

    /// Names an alarm until it rings or is cancelled; nothing afterwards.
    typealias Handle = TimerHeap<Alarm>.Handle

    private var heap = TimerHeap<Alarm>()

    /// When the first alarm rings, in nanoseconds on the monotonic clock; nil without any.
    package var first: Int64? { heap.firstFire }

    /// How many alarms are set.
    package var count: Int { heap.count }

    mutating func set(_ alarm: Alarm, at moment: Int64) -> Handle {
        heap.insert(fire: moment, latest: moment, payload: alarm)
    }

    mutating func cancel(_ handle: Handle?) {
        if let handle { _ = heap.remove(handle) }
    }

    /// Whether an alarm has neither rung nor been cancelled.
    func isSet(_ handle: Handle) -> Bool { heap.payload(of: handle) != nil }

    /// The moment until which a client waits; nil if that was another alarm, or is over.
    func patience(of handle: Handle) -> Int64? {
        if case .patience(_, _, _, let moment)? = heap.payload(of: handle) { moment } else { nil }
    }

    /// Takes out the first alarm if it rings by `now`.
    mutating func popDue(at now: Int64) -> Alarm? {
        guard let first = heap.firstFire, first <= now, let handle = heap.firstHandle else {
            return nil
        }
        return heap.remove(handle)
    }

    /// Cancels all alarms.
    mutating func removeAll() { heap = TimerHeap() }
}
