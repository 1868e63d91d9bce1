// Clients that wait for the end of a job within a random history. The other checks are about what a
// scheduler says; these are about its silence: a client waits only as long as it has a reason to.

import Jobs
import Support

extension SchedulerSimulation {
    /// A client that waits for the end of a job.
    struct WaitingClient {
        let id: JobID
        /// Why it must be answered before its job ends, though that may come back; nil while it
        /// need not be.
        var reason: String?
    }

    /// How long a client waits.
    func somePatience() -> ReplyToken.Patience {
        random.chance(30) ? .milliseconds(1 + random.below(5_000)) : .unlimited
    }

    func waitForOne() {
        let all = entries.values.sorted { $0.id < $1.id }
        guard let entry = all.randomElement(using: &random) else { return }
        let reply = reply(somePatience())
        note("\(reply.number) waits for \(entry.id)")
        waiting[reply.number] = WaitingClient(id: entry.id)
        driver.input { $0.wait(for: entry.id, reply) }
    }

    /// The thread or the handler of some jobs has gone: the clients that wait for them hear of it.
    func mustHear(_ reason: String, where isMeant: (SimulatedJob) -> Bool) {
        // A job that is sought may be found when its thread is back.
        guard driver.scheduler.store.inquiries.count == 0 else { return }
        for (number, client) in waiting where entries[client.id].map(isMeant) == true {
            waiting[number]?.reason = reason
        }
    }

    /// Lets all that has happened be recorded and heard, while nothing begins or ends; then each
    /// client that waits must have a reason to.
    func checkSilence() throws {
        note("settle")
        for _ in 0..<30 {
            driver.store()
            driver.deliver()
            for _ in 0..<8 { driver.hear() }
            try check()
        }
        for (number, client) in waiting.sorted(by: { $0.key < $1.key }) {
            if let state = state(of: client.id), state.isEnded {
                fail("job \(client.id) is \(state), and request \(number) is not answered")
            }
            guard let entry = entries[client.id], change == nil, !isGoingDown,
                !isReleased(entry.request.thread),
                let reason = client.reason ?? reasonNotToWait(for: entry),
                driver.groups.allSatisfy({ !$0.running.values.contains { $0.id == entry.id } })
            else { continue }
            fail("\(reason), and request \(number) for job \(client.id) is not answered")
        }
        try check()
    }

    private func reasonNotToWait(for entry: SimulatedJob) -> String? {
        if !driver.isThread(entry.request.thread) { return "its thread is not there" }
        if entry.request.selector == "other", !servesOther { return "its handler is not there" }
        return nil
    }

    /// All that could happen has happened: each request of this life is answered.
    func checkAnswers() throws {
        let unanswered = (0...requestCount).dropFirst().first { !answered.contains($0) }
        if let unanswered { fail("request \(unanswered) is never answered") }
        try check()
    }
}
