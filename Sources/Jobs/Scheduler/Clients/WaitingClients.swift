// Clients that wait for the end of one job. A client may come, wait and leave very often before the
// job ends: so no waiter is searched for, and waiters that have left are removed many at a time.

/// A client that waits for a job's end.
struct WaitingClient {
    let reply: ReplyToken
    /// Ends the waiting; nil for a client that waits as long as it takes.
    let alarm: Alarms.Handle?

    fileprivate func isOver(_ alarms: borrowing Alarms) -> Bool {
        alarm.map { !alarms.isSet($0) } == true
    }
}

/// The clients that wait for the end of one job, in the order in which they came.
///
/// - Complexity: O(1) on average to add; O(count) to tell.
struct WaitingClients {
    /// Mostly the only one, for which there is no list.
    private var first: WaitingClient?
    private var others: [WaitingClient] = []
    /// How many of them have waited as long as they wanted to.
    private var overCount = 0

    var isEmpty: Bool { first == nil }
    private var count: Int { first == nil ? 0 : 1 + others.count }

    /// Adds a client.
    mutating func add(
        _ waiter: WaitingClient, _ alarms: inout Alarms, _ driver: any SchedulerEnvironment
    ) {
        guard first != nil else {
            first = waiter
            return
        }
        // Each time their number has doubled: constant on average, and clients that left are not
        // kept long.
        if count >= 16, count.nonzeroBitCount == 1 { removeOver(&alarms, driver) }
        if first == nil { first = waiter } else { others.append(waiter) }
    }

    /// Adds the waiters of the same job while it was parked.
    mutating func add(
        _ waiters: WaitingClients, _ alarms: inout Alarms, _ driver: any SchedulerEnvironment
    ) {
        for waiter in waiters.all where !waiter.isOver(alarms) { add(waiter, &alarms, driver) }
    }

    private var all: [WaitingClient] { (first.map { [$0] } ?? []) + others }

    /// An alarm has rung.
    mutating func alarmRang(_ alarms: inout Alarms, _ driver: any SchedulerEnvironment) {
        overCount += 1
        if overCount * 2 >= count { removeOver(&alarms, driver) }
    }

    /// Gives an answer to all that still wait.
    func tell(_ answer: JobAnswer, _ alarms: inout Alarms, _ effects: inout JobEffects) {
        if let first { Self.tell(first, answer, &alarms, &effects) }
        for waiter in others { Self.tell(waiter, answer, &alarms, &effects) }
    }

    /// The clients that still wait, each with the rest of its time in milliseconds; nil without a
    /// limit.
    ///
    /// Their alarms do not ring any more.
    func left(
        _ alarms: inout Alarms, at now: SchedulerTime
    ) -> [(reply: ReplyToken, milliseconds: Int?)] {
        var left: [(reply: ReplyToken, milliseconds: Int?)] = []
        for waiter in all where !waiter.isOver(alarms) {
            let end = waiter.alarm.flatMap { alarms.patience(of: $0) }
            let rest = end.map { Int(max(1, ($0 - now.monotonic) / 1_000_000)) }
            alarms.cancel(waiter.alarm)
            left.append((waiter.reply, rest))
        }
        return left
    }

    private static func tell(
        _ waiter: WaitingClient, _ answer: JobAnswer, _ alarms: inout Alarms,
        _ effects: inout JobEffects
    ) {
        guard !waiter.isOver(alarms) else { return }
        alarms.cancel(waiter.alarm)
        effects.answer(waiter.reply, answer)
    }

    /// Removes the clients that wait no more: long enough, or they have left.
    private mutating func removeOver(_ alarms: inout Alarms, _ driver: any SchedulerEnvironment) {
        overCount = 0
        var kept: [WaitingClient] = []
        for waiter in all where !waiter.isOver(alarms) {
            if driver.isGone(waiter.reply.client) {
                alarms.cancel(waiter.alarm)
            } else {
                kept.append(waiter)
            }
        }
        first = kept.first
        others = Array(kept.dropFirst())
    }
}
