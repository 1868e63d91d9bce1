// Those who wait for the end of one job. Clients may come, wait and leave, or wait a while and ask again, very
// often before it has ended; so nobody is looked for, and those for whom it is over go many at a time.

internal import Jobs
internal import RunLoops

/// Somebody who waits for a job's end.
struct Waiter {
    let reply: ReplyToken
    /// Ends the waiting, and is invalid then; nil for somebody who waits as long as it takes.
    let alarm: ThreadRunLoop.Timer?

    fileprivate var hasWaitedLongEnough: Bool { alarm?.isValid == false }
}

/// Those who wait for the end of one job, in the order in which they came.
///
/// Confined to the desk's thread.
struct Waiters {
    private var all: [Waiter] = []
    /// How many of them have waited long enough.
    private var overCount = 0

    var isEmpty: Bool { all.isEmpty }

    /// Notes somebody who waits for the end.
    mutating func add(_ waiter: Waiter, by door: any JobDoor) {
        // Each time their number has doubled: constant on average, and who left is not kept long.
        if all.count >= 16, all.count.nonzeroBitCount == 1 { forgetThoseWhoAreDone(by: door) }
        all.append(waiter)
    }

    /// Notes those who have waited elsewhere.
    mutating func add(_ others: Waiters, by door: any JobDoor) {
        for waiter in others.all where !waiter.hasWaitedLongEnough { add(waiter, by: door) }
    }

    /// Notes that the alarm of one of them has rung, and is invalid.
    ///
    /// It is not looked for: thousands may have waited long enough at one moment.
    mutating func alarmRang(by door: any JobDoor) {
        overCount += 1
        if overCount * 2 >= all.count { forgetThoseWhoAreDone(by: door) }
    }

    /// Tells everybody who still waits.
    func tell(_ answer: JobAnswer, by door: any JobDoor) {
        for waiter in all where !waiter.hasWaitedLongEnough {
            waiter.alarm?.invalidate()
            door.answer(waiter.reply, answer)
        }
    }

    /// Has no alarm ring any more.
    func endAlarms() {
        for waiter in all { waiter.alarm?.invalidate() }
    }

    /// Forgets about those who wait no more: long enough, or they have left.
    private mutating func forgetThoseWhoAreDone(by door: any JobDoor) {
        overCount = 0
        all.removeAll { waiter in
            guard door.isGone(waiter.reply.client) else { return waiter.hasWaitedLongEnough }
            // It holds the one who has left.
            waiter.alarm?.invalidate()
            return true
        }
    }
}
