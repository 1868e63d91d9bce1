// One job as a simulation's book has it: what was asked for, and what has become of it.

import Jobs

extension Book {
    /// A job, or the wish for one.
    struct Entry {
        let token: Int
        /// As it was asked for: a thread, a pool or a member.
        let address: String
        let priority: Priority
        let isVolatile: Bool
        let retryCountMax: Int
        /// Its key: the order among jobs of one key counts.
        let key: String?
        /// Whether it holds up those behind it while it is tried again.
        let blocks: Bool
        /// Under which it was handed in, to be handed in again.
        let uniqueName: String?
        /// The attempts that do not count any more.
        var forgivenCount = 0
        var id: UInt64?
        var state = State.asked
        /// How often it has begun, interrupted attempts not counted.
        var attempt = 0
        /// Whether it has never been delayed, buffered or tried again: then its number is its
        /// place.
        var isInSequence: Bool
        var isCancelAsked = false
        /// How many cancels are on their way, and not answered.
        var unansweredCancelCount = 0
        /// Whether two were on their way at once: either of them may have taken it back.
        var isCancelAskedTwice = false
        /// Whether it was answered that it runs and was asked to end: then it never begins anew.
        var mustEnd = false
        /// How long it may run, in milliseconds.
        var timeLimit: Int64?
        /// Whether it waits for a time of the clock on the wall, however that is set.
        var goesByWall = false
        /// Between which moments it is or was due by the clock on the wall, as its file has it.
        ///
        /// Nil if it was never delayed, fired or tried again.
        var wallDue: ClosedRange<Int64>?
        /// Whether a command has made it due at that moment: then it is so whatever the clock says.
        var isDue = false
        /// The last moment before that, which the file may still have after a crash.
        var wallDueBefore = Int64.min
        /// When its time is up, in nanoseconds of the clock, as long as it runs.
        var deadline = Int64.max
        /// Whether FIRE was sent for its buffer, and the answer has not come yet.
        var isFireAsked = false
        /// Whether RETRY was sent for it after it failed, and the answer has not come yet.
        var isRunAgainAsked = false
        /// How often time had passed when it ended: until it has passed twice (for what the journal
        /// has in hand, then for what lies in its buffer), a crash may undo an end.
        var endedAfterLeaps = 0
        var isEndCertain = true
        /// When it ends if it has not begun, by the clock on the wall; a range until it is
        /// answered.
        var expiry: ClosedRange<Int64>?

        /// Whether it is over by this moment of the clock on the wall, because it has not begun.
        ///
        /// - Parameter isCertain: whether it must be; else it may be.
        func hasExpired(atWall now: Int64, isCertain: Bool) -> Bool {
            guard attempt == 0, let expiry else { return false }
            switch state {
            case .running, .ended, .gone, .pausing: return false
            case .asked: return !isCertain && expiry.lowerBound <= now
            case .delayed, .buffered, .waiting:
                return (isCertain ? expiry.upperBound : expiry.lowerBound) <= now
            }
        }

        /// Takes note when it is due by the clock on the wall.
        ///
        /// - Parameter isNow: whether a command has made it so.
        mutating func becomeDue(_ wallDue: ClosedRange<Int64>, isNow: Bool = false) {
            isDue = isNow
            wallDueBefore = self.wallDue?.upperBound ?? .min
            self.wallDue = wallDue
        }

        /// Notes that a client asks to cancel it.
        mutating func askToCancel() {
            if unansweredCancelCount > 0 { isCancelAskedTwice = true }
            unansweredCancelCount += 1
        }

        /// Takes note that it runs again, if that was asked for.
        mutating func runAgain(atWall now: Int64) {
            guard isRunAgainAsked else { return }
            becomeDue(now...now, isNow: true)
            isRunAgainAsked = false
            state = .waiting
            forgivenCount = attempt
            isInSequence = false
            isCancelAsked = false
            mustEnd = false
        }

        /// The request, in a line.
        var summary: String {
            "\(token) to \(address), \(priority), retries \(retryCountMax)"
                + (blocks ? " blocking" : "") + (key.map { ", key \($0)" } ?? "")
                + (uniqueName.map { ", name \($0)" } ?? "") + (isVolatile ? ", volatile" : "")
                + (timeLimit.map { ", at most \($0) ms" } ?? "")
                + (expiry.map { ", expires at \($0)" } ?? "")
        }

        /// Whether nothing can happen to it any more.
        var isOver: Bool {
            switch state {
            case .ended, .gone: true
            default: false
            }
        }
    }
}
