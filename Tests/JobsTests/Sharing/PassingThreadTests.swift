// A thread that passes to another scheduler, and what the one before keeps of it.

import Jobs
import StoreTwin
import Support
import Testing

@Suite struct `A thread that passes to another scheduler` {
    private let driver = TestDriver(book: TwinBook())
    private let answers = Answers()

    private final class Answers {
        var all: [UInt64: JobAnswer] = [:]
    }

    init() {
        driver.whenAnswered = { [answers] reply, answer in answers.all[reply.number] = answer }
    }

    private func reply(_ number: UInt64, waits: Bool = false) -> ReplyToken {
        ReplyToken(client: 1, number: number, patience: waits ? .unlimited : nil)
    }

    private func patient(_ number: UInt64, _ milliseconds: Int) -> ReplyToken {
        ReplyToken(client: 1, number: number, patience: .milliseconds(milliseconds))
    }

    private var alarmCount: Int { driver.scheduler.alarms.count }
    private var isIdle: Bool { driver.scheduler.readiness(toPass: "one") == .ready }
    private var parkedCount: Int { driver.scheduler.parkedCount }

    private func settle() {
        for _ in 0..<4 {
            driver.store()
            driver.deliver()
        }
    }

    private func submitBuffered() -> JobID? {
        var request = JobRequest(thread: "one", selector: "echo", payload: [])
        request.schedule = .buffered
        driver.input { $0.perform(request, reply(1)) }
        settle()
        guard case .accepted(let id)? = answers.all[1] else { return nil }
        return id
    }

    @Test func `takes the clients with it that wait for its jobs`() throws {
        let parked = try #require(submitBuffered())
        driver.groups[0].paused = ["one"]
        driver.input { $0.perform(JobRequest(thread: "one", selector: "echo"), reply(2)) }
        settle()
        guard case .accepted(let inTurn)? = answers.all[2] else {
            throw Unexpected("it is not accepted")
        }
        driver.input { $0.wait(for: parked, reply(4, waits: true)) }
        driver.input { $0.wait(for: inTurn, patient(3, 900)) }
        driver.input { $0.wait(for: inTurn, patient(5, 100)) }
        settle()
        #expect(isIdle)
        driver.clock.advance(byMilliseconds: 300)
        driver.input { $0.release("one", reply(6)) }
        driver.input { $0.forgetJobs(of: "one") }
        settle()
        var order: [UInt64] = []
        driver.whenAnswered = { [answers] reply, answer in
            answers.all[reply.number] = answer
            order.append(reply.number)
        }
        _ = driver.input { $0.leaveClients { $0 == "one" } }
        // The third one has waited for long enough.
        #expect(order == [3, 4])
        #expect(answers.all[3]?.told == "wait for job \(inTurn) where thread one is, for 600 ms")
        #expect(answers.all[4]?.told == "wait for job \(parked) where thread one is")
        #expect(alarmCount == 0)
    }

    @Test func `stays while a client watches a job of it`() throws {
        driver.groups[0].paused = ["one"]
        driver.input { $0.perform(JobRequest(thread: "one", selector: "echo"), reply(1)) }
        settle()
        guard case .accepted(let id)? = answers.all[1] else {
            throw Unexpected("it is not accepted")
        }
        driver.input { $0.watch([id], reply(2)) }
        settle()
        #expect(!isIdle)
    }

    @Test func `stays while a client watches a parked job of it`() throws {
        let id = try #require(submitBuffered())
        #expect(isIdle && driver.scheduler.book.active(id) == nil)
        driver.input { $0.watch([id], reply(2)) }
        settle()
        #expect(!isIdle)
        driver.input { _ = $0.audience.watches.remove(1, from: id) }
        #expect(isIdle)
    }

    @Test func `tells that a client watches a job which it has left to the store`() throws {
        driver.groups[0].paused = ["one"]
        driver.input { $0.perform(JobRequest(thread: "one", selector: "echo"), reply(1)) }
        settle()
        driver.input { $0.watch([JobID(1)], reply(2)) }
        driver.input { $0.release("one", reply(3)) }
        driver.input { $0.forgetJobs(of: "one") }
        settle()
        #expect(driver.input { $0.leaveClients { $0 == "one" } } == [1])
    }

    @Test func `tells clients that wait of an end by another scheduler`() throws {
        let (ended, other) = (try #require(submitBuffered()), try #require(submitBuffered()))
        driver.input { $0.wait(for: ended, reply(2, waits: true)) }
        driver.input { $0.wait(for: other, reply(3, waits: true)) }
        settle()
        driver.input { $0.release("one", reply(4)) }
        driver.input { $0.forgetJobs(of: "one") }
        driver.input { scheduler in
            let now = scheduler.now.unixMilliseconds
            scheduler.keep(tag: 1) { _ in .end(ended, nil, .cancelled, at: now) }
        }
        settle()
        #expect(answers.all[2] == nil)
        driver.input { $0.claim("one", reply(5)) }
        settle()
        #expect(answers.all[2]?.told == "job \(ended) was cancelled")
        #expect(answers.all[5]?.told == "done" && answers.all[3] == nil)
    }

    @Test func `is not idle while a command is under way`() throws {
        let id = try #require(submitBuffered())
        driver.input { $0.cancel(id, reply(2)) }
        #expect(!isIdle)
        settle()
        #expect(answers.all[2]?.told == "cancelled")
        #expect(isIdle)
    }

    @Test func `is counted no more`() throws {
        _ = try #require(submitBuffered())
        #expect(parkedCount == 1)
        driver.input { $0.release("one", reply(2)) }
        driver.input { $0.forgetJobs(of: "one") }
        #expect(parkedCount == 0)
        driver.scheduler.checkInvariants()
    }

    @Test func `takes no count with a job that ends before its claim`() throws {
        let id = try #require(submitBuffered())
        driver.input { $0.release("one", reply(2)) }
        driver.input { $0.forgetJobs(of: "one") }
        driver.input { $0.cancel(id, reply(3)) }
        settle()
        #expect(answers.all[3]?.told == "cancelled")
        let faults = driver.scheduler.takeFaults()
        #expect(faults == [])
    }

    // MARK: - Drained

    private func submit(_ count: Int) {
        for number in 1...count {
            let request = JobRequest(thread: "one", selector: "echo", payload: [])
            driver.input { $0.perform(request, reply(UInt64(100 + number))) }
        }
        settle()
    }

    private func runNext() throws -> JobID {
        let attempt = try #require(driver.begin(on: "one"))
        driver.end(attempt, .done([]))
        driver.hear()
        return attempt.id
    }

    @Test func `becomes idle while jobs wait, if it is drained`() throws {
        submit(3)
        let first = try #require(driver.begin(on: "one"))
        #expect(driver.scheduler.readiness(toPass: "one") == .running)
        driver.input { $0.drain("one") }
        driver.end(first, .done([]))
        driver.hear()
        submit(1)
        #expect(driver.begin(on: "one") == nil)
        #expect(isIdle)
        driver.scheduler.checkInvariants()
        // It goes on in order.
        driver.input { $0.endDrain(of: "one") }
        #expect(try (1...3).map { _ in try runNext().number } == [2, 3, 4])
        #expect(driver.scheduler.takeFaults() == [])
    }

    /// A job that is offered to a worker thread may begin at any moment.
    @Test func `begins nothing once it is to pass`() throws {
        submit(3)
        let first = try #require(driver.begin(on: "one"))
        #expect(driver.input { $0.prepareToPass("one") } == .running)
        driver.end(first, .done([]))
        driver.hear()
        #expect(try runNext().number == 2)
        #expect(driver.input { $0.prepareToPass("one") } == .ready)
        #expect(driver.begin(on: "one") == nil)
        driver.input { $0.release("one", reply(2)) }
        settle()
        #expect(answers.all[2]?.told == "done")
    }

    /// New jobs of it are another scheduler's from then on.
    @Test func `refuses new jobs if it was to come back before`() throws {
        driver.input { $0.release("one", keepsNew: true, reply(2)) }
        driver.input { $0.release("one", reply(3)) }
        driver.input { $0.perform(JobRequest(thread: "one", selector: "echo"), reply(4)) }
        settle()
        #expect(answers.all[4]?.told == "thread one belongs to another workerd")
    }

    @Test func `leaves its drained jobs to the next scheduler`() throws {
        submit(2)
        driver.input { $0.drain("one") }
        driver.input { $0.release("one", reply(2)) }
        driver.input { $0.forgetJobs(of: "one") }
        settle()
        #expect(answers.all[2]?.told == "done")
        #expect(parkedCount == 0)
        driver.scheduler.checkInvariants()
        // It may come back: then it is drained no more.
        driver.input { $0.claim("one", reply(3)) }
        settle()
        #expect(try (1...2).map { _ in try runNext().number } == [1, 2])
    }

    @Test func `goes on in a shutdown`() throws {
        submit(2)
        driver.input { $0.drain("one") }
        #expect(driver.begin(on: "one") == nil)
        driver.input { $0.refuse() }
        #expect(try (1...2).map { _ in try runNext().number } == [1, 2])
    }
}
