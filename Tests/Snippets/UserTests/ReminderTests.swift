// The samples of "Testing with the manual clock", which are tests as a user of the package writes
// them.

// sample: reminders
import RunLoops
import RunLoopsTesting
import Testing
import WorkerThreads

/// Reminds of what was not done in an hour.
final class Reminders: Sendable {
    private let worker: WorkerThread
    private let remind: @Sendable (String) -> Void

    init(on worker: WorkerThread, remind: @escaping @Sendable (String) -> Void) {
        self.worker = worker
        self.remind = remind
    }

    func add(_ what: String) {
        worker.runLoop.add(
            ThreadRunLoop.Timer(after: .seconds(3_600)) { [remind] _ in remind(what) })
    }
}

@Suite struct ReminderTests {
    @Test func `a reminder comes after an hour`() throws {
        let clock = ManualClock()
        let worker = try WorkerThread(name: "reminders", clock: clock)
        let trace = Trace()
        let reminders = Reminders(on: worker) { trace.note($0) }

        reminders.add("tea")
        clock.advance(by: .seconds(3_599))
        try worker.settle()
        #expect(trace.all == [])

        clock.advance(by: .seconds(1))
        try worker.settle()
        #expect(trace.all == ["tea"])
    }
}
// end
