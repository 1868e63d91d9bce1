// Schedules whose jobs found no room: the driver tells them when there may be some. Room that it
// does not tell of, such as that of a job that begins, they find when their alarm rings for the
// next try.

internal import Kernel
internal import RunLoops

extension ScheduleRunner {
    /// The pause between a job's end and the look for room: by then its thread has taken the next
    /// one, and of many ends there is one look.
    private static let pauseBeforeLook = Duration.milliseconds(5)

    /// Has a schedule looked at again when there may be room for its job.
    func awaitRoom(_ name: String) {
        crowded.insert(name)
        guard driver.whenRoomMayBe == nil else { return }
        driver.whenRoomMayBe = { [unowned self] in roomMayBe() }
    }

    private func roomMayBe() {
        guard !isLookForRoomDue, !driver.isRefusing else { return }
        isLookForRoomDue = true
        let book = Confined(self, to: loop)
        let moment = loop.now.advanced(by: Self.pauseBeforeLook)
        loop.add(ThreadRunLoop.Timer(at: moment) { _ in book.value.lookForRoom() })
    }

    private func lookForRoom() {
        isLookForRoomDue = false
        let now = driver.wall.unixMilliseconds()
        for name in crowded where !isAwaited(name) {
            if let entry = entries[name] { arm(entry, at: now) }
        }
        runDue(at: now)
        // No schedule waits for room: a job's end then costs nothing more.
        if crowded.isEmpty { driver.whenRoomMayBe = nil }
    }
}
