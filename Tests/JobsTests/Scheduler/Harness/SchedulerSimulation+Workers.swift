// Workers in other processes within a random history: they hold attempts, and leave in any way.

import Jobs
import StoreTwin
import Support

extension SchedulerSimulation {
    /// A worker gives a job back, or vanishes with it.
    func passOn() {
        if let id = driver.heldOver.keys.sorted().first, random.chance(50) {
            note("the worker of \(id) has vanished meanwhile")
            count("vanished")
            entries[id]?.heldNumber = nil
            let attempt = driver.scheduler.book.active(id)?.attempt as? FakeAttempt
            driver.vanish(id)
            if let attempt, attempt.isAskedToEnd, state(of: id)?.isEnded != true {
                // The shutdown has interrupted it: this attempt does not count.
                entries[id]?.lastNumber = attempt.number - 1
            }
            if state(of: id)?.isEnded == true { entries[id]?.hasEnded = true }
            return
        }
        guard let attempt = driver.heldAttempts.randomElement(using: &random) else { return }
        let hasVanished = random.chance(50)
        note("the worker of \(attempt.id) \(hasVanished ? "vanishes" : "gives it back")")
        count(hasVanished ? "vanished" : "given back")
        driver.passOn(attempt, hasVanished: hasVanished)
        if attempt.phase == .withdrawn {
            // Its thread has gone meanwhile: it comes back later.
            entries[attempt.id]?.lastNumber = attempt.number - 1
            return
        }
        if hasVanished { checkNumber(of: attempt) }
    }

    /// Checks that a worker is told when a job has begun before.
    func checkNumber(of attempt: FakeAttempt) {
        guard let entry = entries[attempt.id] else { return }
        if let number = entry.heldNumber {
            if attempt.number != number {
                fail("job \(entry.id) goes on as attempt \(attempt.number), was \(number)")
            }
            entry.heldNumber = nil
        } else if attempt.number <= entry.lastNumber {
            fail("job \(entry.id) began before, and is not told so")
        }
        entry.lastNumber = attempt.number
    }
}
