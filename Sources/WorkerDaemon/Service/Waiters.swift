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
    /// Mostly the only one, for whom there is no list.
    private var first: Waiter?
    private var others: [Waiter] = []
    /// How many of them have waited long enough.
    private var overCount = 0

    var isEmpty: Bool { first == nil }
    private var count: Int { first == nil ? 0 : 1 + others.count }

    /// Notes somebody who waits for the end.
    mutating func add(_ waiter: Waiter, by door: any JobDoor) {
        guard first != nil else { return first = waiter }
        // Each time their number has doubled: constant on average, and who left is not kept long.
        if count >= 16, count.nonzeroBitCount == 1 { forgetThoseWhoAreDone(by: door) }
        if first == nil { first = waiter } else { others.append(waiter) }
    }

    /// Notes those who have waited elsewhere.
    mutating func add(_ waiters: Waiters, by door: any JobDoor) {
        waiters.forEach { if !$0.hasWaitedLongEnough { add($0, by: door) } }
    }

    private func forEach(_ body: (Waiter) -> Void) {
        if let first { body(first) }
        for waiter in others { body(waiter) }
    }

    /// Notes that the alarm of one of them has rung, and is invalid.
    ///
    /// It is not looked for: thousands may have waited long enough at one moment.
    mutating func alarmRang(by door: any JobDoor) {
        overCount += 1
        if overCount * 2 >= count { forgetThoseWhoAreDone(by: door) }
    }

    /// Tells everybody who still waits.
    func tell(_ answer: JobAnswer, by door: any JobDoor) {
        forEach { waiter in
            guard !waiter.hasWaitedLongEnough else { return }
            waiter.alarm?.invalidate()
            door.answer(waiter.reply, answer)
        }
    }

    /// Has no alarm ring any more.
    func endAlarms() {
        forEach { $0.alarm?.invalidate() }
    }

    /// Forgets about those who wait no more: long enough, or they have left.
    private mutating func forgetThoseWhoAreDone(by door: any JobDoor) {
        overCount = 0
        let isDone = { (waiter: Waiter) in
            guard door.isGone(waiter.reply.client) else { return waiter.hasWaitedLongEnough }
            // It holds the one who has left.
            waiter.alarm?.invalidate()
            return true
        }
        others.removeAll(where: isDone)
        if let waiter = first, isDone(waiter) {
            first = others.isEmpty ? nil : others.removeFirst()
        }
    }
}
