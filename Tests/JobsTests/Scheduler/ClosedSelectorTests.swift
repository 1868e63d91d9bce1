// Stored jobs of a selector that goes while jobs are served: they wait for the selector, and their
// thread's count has only the jobs that it can do.

import Jobs
import StoreTwin
import Testing

@Suite struct `Jobs of a selector that goes` {
    private let driver = TestDriver(
        groups: [("one", 1)], selectors: [("echo", JobOptions()), ("other", JobOptions())],
        book: TwinBook(), window: WindowLimits(countMax: 4))

    private func reply(_ number: UInt64) -> ReplyToken { ReplyToken(client: 1, number: number) }

    private func submit(_ count: Int, _ selector: String) {
        for number in 1...count {
            let request = JobRequest(
                thread: "one", selector: selector, payload: [UInt8(number)])
            driver.input { $0.perform(request, reply(UInt64(number))) }
            settle()
        }
    }

    private func settle() {
        // An answer may lead to the next load.
        for _ in 0..<12 {
            driver.store()
            driver.deliver()
        }
    }

    private var unserved: Int { driver.scheduler.queues.unserved.count }

    /// Waiting jobs of the thread, in memory or not.
    private var waiting: Int {
        driver.scheduler.book.count(thread: "one", state: .waiting)
            + driver.scheduler.parkedCount(.waiting)
    }

    private func serve(_ selectors: [String]) {
        let threads = driver.serve(selectors: selectors)
        for (number, thread) in threads.enumerated() {
            let tokens = (reply(1_000 + UInt64(number)), reply(2_000 + UInt64(number)))
            driver.input { $0.release(thread, keepsNew: true, tokens.0) }
            driver.input { $0.claim(thread, tokens.1) }
        }
        settle()
    }

    @Test func `are counted as those of a selector that is not there, in memory or parked`() {
        submit(10, "other")
        submit(2, "echo")
        #expect(driver.scheduler.parkedCount > 0)
        serve(["echo"])
        #expect(unserved == 10 && driver.scheduler.orphanedCount == 10)
        #expect(waiting == 2)
        // Once more from the beginning of the queue, when another selector comes.
        serve(["echo", "third"])
        serve(["echo"])
        #expect(unserved == 10 && waiting == 2)

        driver.input { $0.cancel(JobID(2), reply(100)) }
        settle()
        #expect(unserved == 9 && waiting == 2)
        serve(["echo", "other"])
        #expect(unserved == 0 && waiting == 11)
        driver.scheduler.checkInvariants()
        #expect(driver.scheduler.takeFaults().isEmpty)
    }
}
