// Simple steps of a random history: time passes, collected jobs are fired, an ended job runs again.

import Jobs
import Support

extension SchedulerSimulation {
    func pass(_ milliseconds: Int) {
        note("pass \(milliseconds) ms")
        driver.advance(byMilliseconds: Int64(random.below(milliseconds)))
        let now = driver.now.unixMilliseconds
        for entry in entries.values where entry.begun == 0 && !entry.hasEnded && entry.life >= 0 {
            guard let milliseconds = entry.request.options.expireMilliseconds else { continue }
            if entry.acceptedAt + milliseconds <= now, !entry.isExpired {
                entry.isExpired = true
                count("expired")
            }
        }
    }

    func fire() {
        let reply = reply()
        note("fire two")
        driver.input { $0.fire(random.chance(50) ? "two" : "one", reply) }
    }

    func runAgain() {
        let ended = entries.values.filter { $0.hasEnded }.sorted { $0.id < $1.id }
        guard let entry = ended.randomElement(using: &random) else { return }
        let reply = reply()
        note("run \(entry.id) again")
        entry.isRunAgainAsked = true
        driver.input { $0.runAgain(.one(entry.id), reply) }
    }
}
