// Whether the daemon is alive: each of its own loops has to answer, and the store has to write a
// row. Workers are left out, because a handler may take hours.

internal import HTTP
internal import Jobs
internal import Kernel
internal import RunLoops

/// Checks the daemon's loops and its store on request.
///
/// Confined to the loop of `io`: if that does not turn, the client gets no answer at all.
final class HealthCheck {
    /// The parts that are checked beside `io`.
    enum Part: String, CaseIterable {
        case main, store
    }

    /// How long each part may take for a sign.
    private static let patience = Duration.seconds(5)
    /// How long a good answer is repeated: probes of many clients write once.
    private static let validity = Duration.seconds(1)
    /// A name that no schedule can have.
    private static let scheduleName = " health"

    private let driver: SchedulerDriver
    /// Asks the main thread to call something; nil if there is no main thread of the daemon's.
    var askMain: ((@escaping @Sendable () -> Void) -> Void)?
    /// The parts that have not answered the check in progress.
    private var missing: Set<Part> = []
    private var waiting: [(Part?) -> Void] = []
    private var timeout: ThreadRunLoop.Timeout?
    /// The number of the check; answers to an earlier one are ignored.
    private var number = 0
    private var lastGood: Instant?
    private var beganAt = Instant(nanoseconds: 0)
    /// How long the loops took to answer.
    private(set) var lags = ClassicHistogram()
    /// How long the store took to write.
    private(set) var commits = ClassicHistogram()
    /// Whether the store could write when it was tried last.
    private(set) var isStoreWritable = true

    init(_ driver: SchedulerDriver) { self.driver = driver }

    private var loop: ThreadRunLoop { driver.loop }

    /// Calls `body` with the part that does not work, or with nil: now or within five seconds.
    func look(then body: @escaping (Part?) -> Void) {
        if let lastGood, lastGood.advanced(by: Self.validity) > loop.now { return body(nil) }
        waiting.append(body)
        guard waiting.count == 1 else { return }
        number += 1
        beganAt = loop.now
        missing = askMain == nil ? [.store] : [.main, .store]
        let check = Confined((check: self, number: number), to: loop)
        timeout = loop.schedule(after: Self.patience) {
            let (check, number) = check.value
            if number == check.number {
                if check.missing.contains(.store) { check.isStoreWritable = false }
                check.end(Part.allCases.first(where: check.missing.contains))
            }
        }
        if let askMain {
            let (loop, clock) = (loop, driver.clocks.loop)
            askMain {
                let between = clock.now()
                loop.perform {
                    let (check, number) = check.value
                    check.noteLag(from: check.beganAt, to: between)
                    check.noteLag(from: between, to: clock.now())
                    check.sign(.main, number)
                }
            }
        }
        askStore()
    }

    /// Has the store write and delete a row, in one transaction.
    private func askStore() {
        let schedule = ScheduleDefinition(
            name: Self.scheduleName, rhythm: .every(milliseconds: 1),
            request: JobRequest(thread: "", selector: "", payload: []))
        let record = ScheduleRecord(
            schedule, isFromCommand: false,
            progress: ScheduleProgress(since: driver.wall.unixMilliseconds()))
        let number = number
        driver.keep({ .keepSchedule(record, ticket: $0) }, then: { _ in })
        driver.keep({ .dropSchedule(Self.scheduleName, thread: "", ticket: $0) }) {
            [weak self] fault in
            guard let self else { return }
            isStoreWritable = fault == nil
            guard fault == nil else { return failed(.store, number) }
            if number == self.number, driver.store.isKeeping {
                commits.note(seconds: beganAt.duration(to: loop.now).seconds)
            }
            sign(.store, number)
        }
    }

    /// The store has refused a job.
    func storeFailed() { isStoreWritable = false }

    private func noteLag(from start: Instant, to end: Instant) {
        lags.note(seconds: start.duration(to: end).seconds)
    }

    private func sign(_ part: Part, _ number: Int) {
        guard number == self.number, missing.remove(part) != nil, missing.isEmpty else { return }
        lastGood = loop.now
        end(nil)
    }

    private func failed(_ part: Part, _ number: Int) {
        if number == self.number { end(part) }
    }

    private func end(_ part: Part?) {
        number += 1
        if let timeout { loop.cancel(timeout) }
        timeout = nil
        let told = waiting
        waiting = []
        for body in told { body(part) }
    }
}

extension Duration {
    /// In seconds, with a fraction.
    fileprivate var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}

extension Service {
    /// Whether jobs are taken: `ok`, or the reason as one word.
    private var readiness: String {
        if driver.isRefusing { return "draining" }
        return isStarted ? "ok" : "starting"
    }

    func answerReadiness(_ head: RequestHead, _ session: Session) {
        let word = readiness
        session.answer(head, word == "ok" ? .ok : .serviceUnavailable, word + "\n")
    }

    func answerHealth(_ head: RequestHead, _ session: Session) {
        let slot = session.reserve(head, .ok, HTTPCall.plainText)
        let number = session.number
        health.look { [unowned self] part in
            guard let session = sessions[number], let conversation = session.conversation else {
                return
            }
            let status = part == nil ? HTTPStatus.ok : .serviceUnavailable
            conversation.change(
                slot.number, to: .call(HTTPCall(head, .text(status, HTTPCall.plainText))))
            session.fill(slot, encoded: Array("\(part?.rawValue ?? "ok")\n".utf8))
        }
    }
}
