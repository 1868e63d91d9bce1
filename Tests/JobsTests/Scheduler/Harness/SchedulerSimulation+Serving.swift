// Threads and selectors that come, go and change within a random history, as a reload does it.

import Jobs
import Support

extension SchedulerSimulation {
    func isReleased(_ thread: String) -> Bool {
        released.contains(thread) || claims.values.contains(thread)
    }

    /// Lets go of a thread that is owned, or takes over one that is not.
    func letGoOrTakeOver() {
        let thread = ["one", "two", "two/1"][random.below(3)]
        guard change == nil, released.contains(thread) || driver.isThread(thread) else { return }
        let reply = reply()
        if released.remove(thread) != nil {
            note("claim \(thread)")
            claims[reply.number] = thread
            driver.input { $0.claim(thread, reply) }
        } else {
            note("release \(thread)")
            count("released")
            released.insert(thread)
            driver.input { $0.release(thread, reply) }
        }
    }

    /// A change under way: one at a time.
    enum Change {
        /// The running jobs of a group that goes are waited for.
        case removing(String, UInt64)
        /// The running jobs of a group whose threads change are waited for.
        case suspending(String, count: Int, UInt64)
        /// Claims that are not answered.
        case claiming(Set<UInt64>)
    }

    /// Begins a change of the threads or the selectors.
    func changeServed() {
        guard change == nil, claims.isEmpty, released.isEmpty, !isGoingDown else { return }
        switch random.below(3) {
        case 0: serve(other: !servesOther)
        case 1:
            if driver.isServed("one") {
                remove("one")
            } else {
                claim(driver.serve("one", count: 1))
            }
        default: suspend("two", count: 1 + random.below(3))
        }
    }

    /// Finishes what changes, and then serves all threads and selectors.
    func serveAll() {
        guard change == nil, claims.isEmpty else { return }
        if !servesOther { return serve(other: true) }
        if !driver.isServed("one") { return claim(driver.serve("one", count: 1)) }
        if driver.group("two").memberNames.count < 3 { suspend("two", count: 3) }
    }

    /// Whether all threads and selectors are served, and nothing changes.
    var servesAll: Bool {
        change == nil && claims.isEmpty && servesOther && driver.isServed("one")
            && driver.group("two").memberNames.count == 3
    }

    private func serve(other: Bool) {
        note(other ? "serve other" : "do not serve other")
        count(other ? "opened" : "closed")
        servesOther = other
        if !other { mayBeDropped { $0.request.selector == "other" } }
        let threads = driver.serve(selectors: other ? ["echo", "other"] : ["echo"])
        note("release and claim \(threads)")
        if !other { mustHear("its handler has gone") { $0.request.selector == "other" } }
        if !threads.isEmpty { count("brought back") }
        for thread in threads {
            let reply = reply()
            driver.input { $0.release(thread, keepsNew: true, reply) }
        }
        claim(threads)
    }

    private func remove(_ name: String) {
        note("remove \(name)")
        count("removed")
        mayBeDropped { $0.request.thread == name }
        mustHear("thread \(name) has gone") { $0.request.thread == name }
        let reply = reply()
        change = .removing(name, reply.number)
        driver.remove(name, reply)
    }

    private func suspend(_ name: String, count threads: Int) {
        note("suspend \(name), for \(threads) threads")
        let reply = reply()
        change = .suspending(name, count: threads, reply.number)
        driver.input { $0.suspend(group: name, reply) }
    }

    private func claim(_ names: [String]) {
        let replies = names.map { _ in reply() }
        change = names.isEmpty ? nil : .claiming(Set(replies.map(\.number)))
        for (name, reply) in zip(names, replies) { claims[reply.number] = name }
        for (name, reply) in zip(names, replies) {
            note("claim \(name)")
            driver.input { $0.claim(name, reply) }
        }
    }

    /// An answer has come that a change waits for.
    func noteChange(_ number: UInt64) {
        switch change {
        case .removing(let name, number):
            note("\(name) is removed")
            change = nil
            if isGoingDown || driver.group(name).running.isEmpty { return }
            fail("\(name) has gone, and runs a job")
        case .suspending(let name, let threads, number):
            change = nil
            guard !isGoingDown else { return }
            count("resumed")
            note("\(name) has \(threads) threads")
            let members = TestDriver.members(name, threads)
            // The pool itself stays, with one thread, too.
            let gone = Set(driver.group(name).memberNames).subtracting(members + [name])
            mayBeDropped { gone.contains($0.request.thread) }
            mustHear("\(name) has fewer threads") { gone.contains($0.request.thread) }
            if !driver.group(name).running.isEmpty { fail("\(name) is suspended, and runs a job") }
            claim(driver.resume(name, members))
        case .claiming(var left):
            left.remove(number)
            change = left.isEmpty ? nil : .claiming(left)
        default: break
        }
    }

    /// Jobs in memory only end with their thread or their handler.
    private func mayBeDropped(where isMeant: (SimulatedJob) -> Bool) {
        for entry in entries.values
        where !entry.isStored && (!entry.hasEnded || entry.isRunAgainAsked) && isMeant(entry) {
            entry.mayBeDropped = true
        }
    }

    /// Whether no turn of a job comes: its thread or handler is not there, or comes back.
    func isAway(_ entry: SimulatedJob) -> Bool {
        let thread = entry.request.thread
        if entry.request.selector == "other", !servesOther { return true }
        return !driver.isThread(thread) || isReleased(thread)
    }

    /// Checks that a job begins on a thread that is there, by a handler that is there.
    func checkServed(_ attempt: FakeAttempt) {
        // It is in a worker's hands since before the restart.
        if entries[attempt.id]?.heldNumber != nil { return }
        if !driver.isThread(attempt.thread) {
            fail("job \(attempt.id) began, and its thread \(attempt.thread) has gone")
        }
        if attempt.job.details.selector == "other", !servesOther {
            fail("job \(attempt.id) began, and its handler has gone")
        }
        if case .suspending(let name, _, _) = change, attempt.job.group.name == name {
            fail("job \(attempt.id) began, and \(name) is suspended")
        }
    }
}
