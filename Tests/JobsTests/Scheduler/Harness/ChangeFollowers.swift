// Two readers of all changes of a random history: one keeps up and knows the state of each job from
// what it is told, the other is slow and is told how much it has missed.

import Jobs
import StoreTwin
import Structures
import Support

/// Confined to its simulation's thread.
final class ChangeFollowers {
    /// The states of all jobs, as the reader that keeps up knows them.
    private(set) var states: [JobID: (state: String, dueAt: Int64?, thread: String?)] = [:]
    private(set) var fault: String?
    /// How many changes of each kind were read.
    private(set) var counts: [String: Int] = [:]
    private var ring = NumberedRing<SchedulerChange>(countMax: 12, byteCountMax: 100_000)
    private var fast = RingReader(from: 1)
    private var slow = RingReader(from: 1)
    /// All changes of the ring, from number 1 on.
    private var all: [SchedulerChange] = []
    private var slowCount = 0
    private(set) var missedCount = 0
    private var random = SeededRandom(seed: 1)

    func follow(_ driver: TestDriver) {
        driver.whenChanged = { [unowned self] in take($0) }
        driver.scheduler.noteOldestWaiting(true)
        driver.whenStarted = { [unowned self, unowned driver] in beginAnew(driver) }
    }

    /// A reader that meets another epoch asks for the state of all jobs.
    private func beginAnew(_ driver: TestDriver) {
        driver.scheduler.noteOldestWaiting(true)
        states = [:]
        for job in driver.twin?.book.allJobs ?? [] {
            states[job.id] = (job.state.rawValue, job.dueAt, job.thread)
        }
        for job in driver.scheduler.book.activeJobs {
            states[job.id] = (job.job.state.rawValue, job.job.dueAt, job.thread)
        }
    }

    private func take(_ change: SchedulerChange) {
        ring.append(change, byteCount: 0)
        all.append(change)
        guard case .element(let next, let number)? = fast.take(from: ring), number == ring.next - 1
        else { return fail("a reader that keeps up has missed something") }
        read(next)
        if random.chance(10) { readSlowly(random.below(20)) }
    }

    private func read(_ change: SchedulerChange) {
        switch change {
        case .job(let change):
            counts[change.kind.rawValue, default: 0] += 1
            let before = states[change.id]?.state
            if change.kind == .accepted, before != nil { fail("job \(change.id) comes twice") }
            if change.kind != .accepted, before == nil {
                fail("job \(change.id) is \(change.kind.rawValue), and was never accepted")
            }
            let thread = change.thread ?? states[change.id]?.thread
            states[change.id] = (change.state, change.dueAt, thread)
        case .fired(let thread, let before, _):
            counts["fired", default: 0] += 1
            for (id, known) in states
            where known.state == "buffered" && id < before && known.thread == thread {
                states[id]?.state = "waiting"
            }
        }
    }

    private func readSlowly(_ count: Int) {
        for _ in 0..<count {
            switch slow.take(from: ring) {
            case .element(let change, let number):
                slowCount += 1
                if change != all[Int(number) - 1] { fail("change \(number) is another one") }
            case .missed(let count, _): missedCount += Int(count)
            case nil: return
            }
        }
    }

    /// Checks that nothing is lost but what was told as missed.
    func end() {
        while slow.next < ring.next { readSlowly(1) }
        if slowCount + missedCount != all.count {
            fail("\(slowCount) read and \(missedCount) missed, of \(all.count)")
        }
    }

    func fail(_ text: String) { fault = fault ?? text }
}

extension SchedulerSimulation {
    func checkSurroundings() {
        if driver.scheduler.stalledQueueCount > 0 { fail("a queue has stalled") }
        for job in driver.scheduler.book.activeJobs {
            // Before its commit it is known to no client.
            if job.isStored, driver.scheduler.store.commits.mayContain(job.id) { continue }
            // Claimed again after its release was told: its alarm is due at once.
            if job.job.state == .delayed, let dueAt = job.job.dueAt,
                dueAt <= driver.scheduler.now.unixMilliseconds,
                followers.states[job.id]?.state == "waiting"
            {
                continue
            }
            check(job.id, job.job.state)
        }
        if let fault = followers.fault { fail(fault) }
        for group in driver.groups { checkOldest(of: group.name) }
    }

    /// Compares the oldest waiting job with a look at all jobs.
    private func checkOldest(of name: String) {
        guard let group = driver.scheduler.knownGroup(of: name) else { return }
        var oldest: Int64?
        for job in driver.scheduler.book.activeJobs where job.group === group {
            switch job.place {
            case .inLine, .heldUp, .suspended: break
            case .offered where driver.scheduler.beginning(of: job) == nil: break
            case .offered, .outside, .committing, .delayed, .buffered: continue
            }
            oldest = min(oldest ?? .max, max(job.job.dueAt ?? 0, job.job.acceptedAt))
        }
        let noted = driver.scheduler.oldestWaiting(of: group)
        if noted != oldest {
            fail("the oldest job of \(name) waits since \(oldest as Any), not \(noted as Any)")
        }
    }

    /// Compares all jobs: everything is done, and all answers have come.
    func checkFollowersAtEnd() {
        driver.store()
        driver.deliver()
        followers.end()
        for id in entries.keys {
            if let state = state(of: id) { check(id, state) }
        }
        if let fault = followers.fault { fail(fault) }
        counts["missed", default: 0] += followers.missedCount
        for (kind, count) in followers.counts { counts["told \(kind)", default: 0] += count }
    }

    private func check(_ id: JobID, _ state: JobState) {
        let told = followers.states[id]?.state
        // In memory only, it may have died with an earlier life.
        if told == nil, entries[id]?.isStored == false { return }
        guard told != state.rawValue, told != "stuck" || state != .running else { return }
        fail("job \(id) is \(state.rawValue), and its last change said \(told ?? "nothing")")
    }
}
