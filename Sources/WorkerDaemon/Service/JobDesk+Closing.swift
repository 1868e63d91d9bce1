// The desk of a daemon that is down, or dropped: it lets go of all that refers to it. A process that ends
// does not need it; whoever starts one daemon after another does.

internal import Jobs
internal import RunLoops

extension JobDesk {
    /// Lets go of all jobs and of everybody who waits for one.
    func letGoOfAll() {
        for job in live.values {
            cancelRelease(of: job)
            endExpiry(of: job)
            job.alarm?.invalidate()
            // It knows those that it holds back, and they it.
            job.holdUp = nil
            job.takeWaiters().endAlarms()
        }
        live = JobTable<LiveJob>()
        orders = OrderKeeper()
        if let alarm = stored.expiryAlarm { loop.cancel(alarm) }
        stored.letGoOfAll()
        door = ClosedDoor()
        whenCompleted = nil
        whenRoomMayBe = nil
    }
}
