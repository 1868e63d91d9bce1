// A scheduler that has some slots of a spread pool: where new jobs go, and how a slot passes to
// another scheduler while others are served.

import Jobs
import StoreTwin
import Support
import Testing

@Suite struct `A scheduler with slots of a spread pool` {
    private static let slots = ["mail", "mail#1", "mail#2", "mail#3"]
    private let driver = TestDriver(
        groups: [("mail", 2)], slots: ["mail": 4], book: TwinBook())
    private let answers = Answers()

    private final class Answers {
        var all: [UInt64: JobAnswer] = [:]
        var lastNumber: UInt64 = 0
    }

    init() {
        driver.whenAnswered = { [answers] reply, answer in answers.all[reply.number] = answer }
    }

    private func settle() {
        for _ in 0..<4 {
            driver.store()
            driver.deliver()
        }
    }

    private func ask(
        waits: Bool = false, _ request: (inout JobScheduler, ReplyToken) -> Void
    ) -> JobAnswer? {
        answers.lastNumber += 1
        let reply = ReplyToken(
            client: 1, number: answers.lastNumber, patience: waits ? .unlimited : nil)
        driver.input { request(&$0, reply) }
        settle()
        return answers.all[reply.number]
    }

    private func submit(key: String? = nil, waits: Bool = false) -> JobID? {
        var options = JobOptions()
        options.key = key.map { Array($0.utf8) }
        let request = JobRequest(thread: "mail", selector: "echo", options: options)
        guard case .accepted(let id)? = ask(waits: waits, { $0.perform(request, $1) }) else {
            return nil
        }
        return id
    }

    private func submitVolatile(in slot: String) {
        var request = JobRequest(
            thread: "mail", selector: "echo", options: JobOptions(key: Array(key(of: slot).utf8)))
        request.isVolatile = true
        _ = ask { $0.perform(request, $1) }
    }

    private func slot(_ id: JobID?) -> String? {
        id.flatMap { driver.scheduler.book.job($0)?.slot ?? driver.twin?.book.job($0)?.slot }
    }

    /// A key of a slot.
    private func key(of slot: String) -> String {
        for number in 0..<1_000 {
            let key = "k\(number)"
            if PoolSlot.name(of: Array(key.utf8), of: "mail", among: 4) == slot { return key }
        }
        preconditionFailure("a hash leaves no slot out")
    }

    private func release(_ slot: String) {
        #expect(ask { $0.release(slot, $1) }?.told == "done")
    }

    @Test func `puts a job into the slot of its key, and shows the pool`() throws {
        for slot in Self.slots {
            let id = try #require(submit(key: key(of: slot)))
            #expect(self.slot(id) == slot)
            #expect(driver.scheduler.book.job(id)?.thread == "mail")
        }
    }

    @Test func `spreads jobs without a key over its own slots`() throws {
        release("mail#1")
        release("mail")
        let slots = (0..<200).map { _ in slot(submit()) }
        #expect(Set(slots) == ["mail#2", "mail#3"])
    }

    @Test func `keeps a submitted job in its slot, also while another scheduler gets it`() throws {
        func handIn() -> JobAnswer? {
            let request = JobRequest(thread: "mail", selector: "echo")
            let job = SubmittedJob(place: 1, ticket: "", request: request)
            return ask { $0.perform(request, from: job, $1) }
        }
        guard case .accepted(let id)? = handIn() else { throw Unexpected("it is not accepted") }
        #expect(slot(id) == "mail")
        release("mail")
        guard case .failed(.foreignThread)? = handIn() else { throw Unexpected("it is accepted") }
    }

    @Test func `refuses jobs whose slot another scheduler has`() throws {
        release("mail#2")
        #expect(submit(key: key(of: "mail#2")) == nil)
        #expect(submit(key: key(of: "mail#3")) != nil)
        for slot in Self.slots where slot != "mail#2" { release(slot) }
        #expect(submit() == nil)
    }

    @Test func `goes on with the other slots while one is away`() throws {
        driver.groups[0].paused = Set(driver.groups[0].memberNames)
        let leaving = try #require(submit(key: key(of: "mail#1")))
        let staying = try #require(submit(key: key(of: "mail#2")))
        let isIdle = driver.scheduler.readiness(toPass: "mail#1") == .ready
        #expect(isIdle)
        release("mail#1")
        driver.scheduler.checkInvariants()
        driver.groups[0].paused = []
        let begun = [driver.begin(on: "mail/1"), driver.begin(on: "mail/2")]
        #expect(begun.compactMap { $0?.id } == [staying])
        #expect(ask { $0.claim("mail#1", $1) }?.told == "done")
        #expect(driver.begin(on: "mail/2")?.id == leaving)
        driver.scheduler.checkInvariants()
        let faults = driver.scheduler.takeFaults()
        #expect(faults == [])
    }

    @Test func `keeps a slot with a job that runs, or is in memory only`() throws {
        let running = try #require(submit(key: key(of: "mail#1")))
        #expect(driver.begin(on: "mail/1")?.id == running)
        driver.groups[0].paused = ["mail/2"]
        submitVolatile(in: "mail#2")
        _ = submit(key: key(of: "mail#3"), waits: true)
        let idle = Self.slots.filter { driver.scheduler.readiness(toPass: $0) == .ready }
        #expect(idle == ["mail", "mail#3"])
    }

    @Test func `counts the jobs that wait in slots which can pass`() throws {
        driver.groups[0].paused = ["mail/2"]
        let running = try #require(submit(key: key(of: "mail#1")))
        #expect(driver.begin(on: "mail/1")?.id == running)
        for slot in Self.slots { for _ in 0..<3 { _ = submit(key: key(of: slot)) } }
        submitVolatile(in: "mail#2")
        let request = JobRequest(
            thread: "mail", selector: "echo", schedule: .buffered,
            options: JobOptions(key: Array(key(of: "mail#3").utf8)))
        _ = ask { $0.perform(request, $1) }
        let load = driver.scheduler.slotLoad(of: "mail")
        #expect(load == SlotLoad(sum: 13, lendable: ["mail": 3, "mail#1": 3, "mail#3": 3]))
        release("mail#3")
        let rest = driver.scheduler.slotLoad(of: "mail")
        #expect(rest.sum == 10 && rest.lendable == ["mail": 3, "mail#1": 3])
    }

    @Test func `cancels the jobs of one slot by its alias, and of all by the pool's name`() throws {
        driver.groups[0].paused = Set(driver.groups[0].memberNames)
        for slot in Self.slots { _ = submit(key: key(of: slot)) }
        _ = submit(key: key(of: "mail"))
        func cancel(_ name: String) -> String? {
            ask { $0.cancel(thread: name, selector: "echo", payload: nil, $1) }?.told
        }
        #expect(cancel("mail#0") == "2")
        #expect(cancel("mail#1") == "1")
        #expect(cancel("mail") == "2")
    }

    @Test func `leaves the jobs of a slot alone that another scheduler has`() throws {
        driver.groups[0].paused = Set(driver.groups[0].memberNames)
        for slot in Self.slots {
            var request = JobRequest(
                thread: "mail", selector: "echo",
                options: JobOptions(key: Array(key(of: slot).utf8)))
            _ = ask { $0.perform(request, $1) }
            request.schedule = .buffered
            _ = ask { $0.perform(request, $1) }
        }
        release("mail#1")
        #expect(ask { $0.fire("mail", $1) }?.told == "3")
        #expect(
            ask { $0.cancel(thread: "mail", selector: "echo", payload: nil, $1) }?.told == "6")
        #expect(driver.twin?.book.liveJobs.map(\.slot) == ["mail#1", "mail#1"])
    }

    @Test func `keeps the jobs of all slots when its threads change`() throws {
        let ids = Self.slots.map { submit(key: key(of: $0)) }
        #expect(driver.serve(selectors: ["other"]) == [])
        #expect(ask { $0.suspend(group: "mail", $1) }?.told == "done")
        #expect(driver.resume("mail", TestDriver.members("mail", 2)) == [])
        let back = driver.serve(selectors: ["echo", "other"])
        #expect(back == Self.slots)
        for slot in back {
            release(slot)
            #expect(ask { $0.claim(slot, $1) }?.told == "done")
        }
        #expect(driver.scheduler.orphanedCount == 0)
        let begun = ids.indices.compactMap { place in
            driver.begin(on: "mail/\(place % 2 + 1)").map { attempt in
                driver.end(attempt, .done([]))
                driver.hear()
                return attempt.id
            }
        }
        #expect(begun.sorted() == ids.compactMap { $0 }.sorted())
    }
}
