// Requests of the client of a simulation, and the answers that it must get.

import Jobs
import RESP
import Support

extension Simulation {
    func submit() throws {
        for _ in 0...random.below(4) where book.live.count < Self.liveCountMax { try submitOne() }
    }

    private func submitOne() throws {
        let isVolatile = random.chance(15)
        let retryCountMax = random.chance(30) ? random.below(3) : 0
        let delay = random.chance(isCrowded ? 60 : 20) ? Int64(random.below(4_000)) : 0
        let timeLimit = random.chance(20) ? Int64(1 + random.below(2_000)) : nil
        let expire = random.chance(20) ? Int64(1 + random.below(3_000)) : nil
        let wallNow = world.clock.milliseconds + book.wallShift
        let expiry = expire.map { wallNow + $0...Int64.max }
        // Of one queue, more than its window takes.
        let isFirst = isCrowded && random.chance(60)
        let token = book.add { token in
            Book.Entry(
                token: token,
                address: isFirst ? "one" : Self.addresses.randomElement(using: &random) ?? "one",
                priority: isFirst
                    ? .normal : Priority.allCases.randomElement(using: &random) ?? .normal,
                isVolatile: isVolatile, retryCountMax: retryCountMax,
                key: random.chance(30) ? "k\(random.below(3))" : nil,
                blocks: retryCountMax > 0 && random.chance(50),
                uniqueName: random.chance(20) && !isVolatile ? "u\(token)" : nil,
                isInSequence: delay == 0, timeLimit: timeLimit,
                goesByWall: delay > 0 && random.chance(50), expiry: expiry)
        }
        let entry = try book[token]
        note("submit \(entry.summary), \(entry.goesByWall ? "at a time" : "delay") \(delay)")
        let due = world.clock.millisecondsRoundedUp + delay
        let wallDue = due + book.wallShift
        if delay > 0 { try book.change(token) { $0.becomeDue(wallDue...wallDue) } }
        let request = command(for: entry, delay: delay, due: due, expire: expire)
        try world.ask(request) { [unowned self] reply in
            if let expire, let expiry {
                let latest = world.clock.milliseconds + book.wallShift + expire
                try book.change(token) {
                    // The clock may have been set back meanwhile.
                    $0.expiry = min(expiry.lowerBound, latest)...max(expiry.lowerBound, latest)
                }
            }
            try accepted(token, reply, as: delay > 0 ? .delayed(until: due) : .waiting)
        }
    }

    /// Hands in a job that the store refuses: it never begins, since no book has it.
    func submitRefused() throws {
        note("submit what is refused")
        var reply: RESPValue?
        let isTried = try world.refuse(["PERFORM", "one", "play", "999999999"]) { reply = $0 }
        if isTried, reply?.errorWord != "BUSY" {
            throw SimulationFault("what the store refused was answered \(reply as Any)")
        }
    }

    private func command(
        for entry: Book.Entry, delay: Int64 = 0, due: Int64 = 0, expire: Int64? = nil
    ) -> [CommandArgument] {
        var command: [CommandArgument] = [
            "PERFORM", .text(entry.address), "play", "PRIORITY", .text(entry.priority.name),
            "RETRY",
            .integer(entry.retryCountMax),
        ]
        if entry.retryCountMax > 0 { command.append(entry.blocks ? "BLOCK" : "ASIDE") }
        if let key = entry.key { command += ["KEY", .text(key)] }
        if let name = entry.uniqueName { command += ["UNIQUE", .text(name)] }
        if entry.isVolatile { command.append("VOLATILE") }
        if let limit = entry.timeLimit { command += ["TIMEOUT", .integer(Int(limit))] }
        if let expire { command += ["EXPIRE", .integer(Int(expire))] }
        if delay > 0, entry.goesByWall {
            command += ["AT", .integer(Int(SimulatedClock.beginning + book.wallShift + due))]
        } else if delay > 0 {
            command += ["DELAY", .integer(Int(delay))]
        }
        return command + [.integer(entry.token)]
    }

    /// Hands in once more what was handed in under a name.
    func submitAgain() throws {
        let named = book.entries.values.filter {
            $0.uniqueName != nil && $0.id != nil && $0.state != .asked && $0.state != .gone
        }.sorted { $0.token < $1.token }
        guard let entry = named.suffix(20).randomElement(using: &random), let id = entry.id else {
            return
        }
        note("submit again \(entry.token), job \(id)")
        try world.ask(command(for: entry)) { [unowned self] reply in
            try observe()
            guard case .integer(Int(id)) = reply else {
                throw SimulationFault("job \(id), handed in again, was answered \(reply)")
            }
        }
    }

    /// Lets a job that has failed for good run again, or forgets it.
    func seeToFailed() throws {
        let failed = book.entries.values.filter {
            $0.state == .ended(.failed) && !$0.isVolatile && $0.id != nil
        }.sorted { $0.token < $1.token }
        guard let entry = failed.suffix(20).randomElement(using: &random), let id = entry.id else {
            return
        }
        let isDropped = random.chance(40)
        note("\(isDropped ? "drop" : "run again") \(entry.token), job \(id)")
        if !isDropped { try book.change(entry.token) { $0.isRunAgainAsked = true } }
        let wallNow = world.clock.milliseconds + book.wallShift
        try world.ask([isDropped ? "DROP" : "RETRY", .integer(Int(id))]) { [unowned self] reply in
            guard case .integer(1) = reply else {
                throw SimulationFault("job \(id) that had failed was answered \(reply)")
            }
            try book.change(entry.token) { entry in
                if isDropped { entry.state = .gone } else { entry.runAgain(atWall: wallNow) }
            }
            try observe()
        }
    }

    /// Asks for several things at once: they come to the disk together, and are answered in their
    /// order.
    func askSeveralThings() throws {
        if random.chance(50) { try submit() }
        if random.chance(70) { try fire() }
        try seeToFailed()
        if random.chance(50) { try submit() }
        if random.chance(50) { try collect() }
    }

    func collect() throws {
        guard book.live.count < Self.liveCountMax else { return }
        let isFirst = isCrowded && random.chance(60)
        let address = isFirst ? "one" : Self.addresses.randomElement(using: &random) ?? "one"
        let token = book.add { token in
            Book.Entry(
                token: token, address: address, priority: .normal, isVolatile: false,
                retryCountMax: 0, key: nil, blocks: false, uniqueName: nil, isInSequence: false)
        }
        note("collect \(token) for \(address)")
        try world.ask(["BUFFER", .text(address), "play", .integer(token)]) {
            [unowned self] reply in try accepted(token, reply, as: .buffered)
        }
    }

    private func accepted(_ token: Int, _ reply: RESPValue, as state: Book.State) throws {
        guard case .integer(let id) = reply else {
            throw SimulationFault("token \(token) was answered \(reply)")
        }
        try observe()
        try book.change(token) { entry in
            if let known = entry.id, known != UInt64(id) {
                throw SimulationFault("token \(token) has numbers \(known) and \(id)")
            }
            entry.id = UInt64(id)
            if entry.state == .asked { entry.state = state }
        }
    }

    func fire() throws {
        let address = Self.addresses.randomElement(using: &random) ?? "one"
        note("fire \(address)")
        let fired = book.live.filter {
            $0.state == .buffered
                && ($0.address == address || address == "two" && $0.address != "one")
        }
        let wallNow = world.clock.milliseconds + book.wallShift
        for entry in fired {
            try book.change(entry.token) {
                $0.isFireAsked = true
                $0.becomeDue(wallNow...wallNow, isNow: true)
            }
        }
        try world.ask(["FIRE", .text(address)]) { [unowned self] reply in
            guard case .integer(fired.count) = reply else {
                throw SimulationFault("\(fired.count) were fired, answered \(reply)")
            }
            try observe()
            for entry in fired {
                try book.change(entry.token) {
                    $0.isFireAsked = false
                    if $0.state == .buffered { $0.state = .waiting }
                }
            }
        }
    }

    func cancel() throws {
        let known = book.entries.values.filter { $0.id != nil && $0.state != .gone }
            .sorted { $0.token < $1.token }
        // Few of those that are known run, or wait for their time.
        let running = known.filter { if case .running = $0.state { true } else { false } }
        let held = known.filter { if case .delayed = $0.state { true } else { false } }
        let chosen =
            random.chance(30) && !running.isEmpty
            ? running : random.chance(30) && !held.isEmpty ? held : known
        guard let entry = chosen.randomElement(using: &random), let id = entry.id else { return }
        note("cancel \(entry.token), job \(id), \(entry.state)")
        let token = entry.token
        try book.letOthersPass(token)
        try book.change(token) { $0.askToCancel() }
        try world.ask(["CANCEL", .integer(Int(id))]) { [unowned self] reply in
            try cancelled(token, reply)
        }
    }

    private func cancelled(_ token: Int, _ reply: RESPValue) throws {
        try observe()
        let wallNow = world.clock.milliseconds + book.wallShift
        try book.change(token) { entry in
            var expected: Set<String>
            entry.unansweredCancelCount -= 1
            switch entry.state {
            case .running:
                expected = ["requested"]
                entry.isCancelAsked = true
                entry.mustEnd = !entry.isVolatile
            case .ended: expected = ["toolate"]
            case .asked, .gone: return
            case .delayed, .buffered, .waiting, .pausing:
                expected = ["cancelled"]
                if reply.text == "toolate", entry.hasExpired(atWall: wallNow, isCertain: false) {
                    expected = ["toolate"]
                    entry.state = .ended(.expired)
                    entry.isEndCertain = false
                } else {
                    entry.state = .ended(.cancelled)
                }
            }
            if entry.isCancelAskedTwice, entry.state == .ended(.cancelled) {
                expected = ["cancelled", "toolate"]
            }
            guard let answer = reply.text, expected.contains(answer) else {
                throw SimulationFault(
                    "CANCEL of job \(entry.id ?? 0), \(entry.state), was answered \(reply)")
            }
        }
    }

    /// Takes back all that was handed in for an address.
    func cancelAll(of address: String) throws {
        note("cancel all of \(address)")
        let meant = book.live.filter {
            $0.address == address || address == "two" && $0.address != "one"
        }.map(\.token)
        for token in meant {
            try book.letOthersPass(token)
            try book.change(token) { $0.askToCancel() }
        }
        try world.ask(["CANCEL", .text(address), "play"]) { [unowned self] reply in
            try observe()
            var (count, uncertainCount) = (0, 0)
            let wallNow = world.clock.milliseconds + book.wallShift
            for token in meant where book.knows(token) {
                try book.change(token) { entry in
                    entry.unansweredCancelCount -= 1
                    switch entry.state {
                    case .delayed, .buffered, .waiting, .pausing:
                        if entry.hasExpired(atWall: wallNow, isCertain: false) {
                            // Seen when it is next looked up.
                            uncertainCount += 1
                            entry.state = .asked
                            return
                        }
                        entry.state = .ended(.cancelled)
                        if entry.isCancelAskedTwice { uncertainCount += 1 } else { count += 1 }
                    case .ended(.cancelled) where entry.isCancelAskedTwice: uncertainCount += 1
                    case .asked: uncertainCount += 1
                    case .running, .ended, .gone: break
                    }
                }
            }
            guard let answer = reply.integer, (count...count + uncertainCount).contains(answer)
            else {
                throw SimulationFault(
                    "CANCEL of \(count) of \(address), and \(uncertainCount) that nobody knows, "
                        + "was answered \(reply)")
            }
        }
    }

    func pauseOrResume() throws {
        let member = Self.members.randomElement(using: &random) ?? "one"
        let isPaused = pausedThreads.contains(member)
        note("\(isPaused ? "resume" : "pause") \(member)")
        pausedThreads.ask(member)
        try world.ask([isPaused ? "RESUME" : "PAUSE", .text(member)]) { [unowned self] reply in
            guard case .simpleString("OK") = reply else {
                throw SimulationFault("\(member) was answered \(reply)")
            }
            // Jobs that began before are no fault.
            try observe()
            pausedThreads.answered(member, isPaused: !isPaused)
        }
    }
}
