// Random operations on a daemon, and after each of them a look at whether all that it has promised is so.

import Jobs
import Kernel
import RESP
import Support
import WorkerDaemon

/// One run of a simulation.
///
/// Confined to the thread that made it.
final class Simulation {
    private let world: World
    private var book = Book()
    private var random: SeededRandom
    private var pausedThreads = PausedThreads()
    /// What was done last, to be told with a fault.
    private var steps: [String] = []
    private var stepCount = 0
    private let windowCount: Int
    private let isCrowded: Bool
    /// What was counted, so that a run can be seen to have tried everything.
    private(set) var counts: [String: Int] = [:]

    private static let addresses = ["one", "one", "two", "two", "two/1", "two/2"]
    private static let members = ["one", "two/1", "two/2"]
    private static let liveCountMax = 60

    init(seed: UInt64, directory: String) throws {
        random = SeededRandom(seed: seed)
        // Of a small window, what waits is parked, brought and parked again all the time.
        let isSmall = random.chance(50)
        let window = isSmall ? MemoryWindow(countMax: 4 + random.below(5)) : MemoryWindow()
        windowCount = window.countMax
        isCrowded = isSmall
        world = try World(directory, window)
    }

    /// Does so many things, one after another.
    ///
    /// - Throws: what was found, with the steps that led to it.
    func run(_ count: Int) throws {
        do {
            for _ in 0..<count {
                stepCount += 1
                try step()
            }
            try sweep()
            world.close()
        } catch {
            throw SimulationFault(
                "step \(stepCount), with \(windowCount) in memory: \(error)\nafter\n"
                    + story(of: "\(error)").joined(separator: "\n"))
        }
    }

    /// The last steps, and those before that had to do with the job that a fault names.
    private func story(of fault: String) -> [String] {
        let words = fault.split { !$0.isNumber && !$0.isLetter }
        let token = words.firstIndex(of: "token").map { String(words[$0 + 1]) }
        let before = steps.dropLast(40).filter { step in
            let isEndOfLife = step.contains("crash") || step.contains("shutdown")
            return isEndOfLife || step.split { !$0.isNumber }.contains { $0 == token ?? "" }
        }
        return before + steps.suffix(40)
    }

    private func note(_ step: String) {
        steps.append("\(stepCount) at \(world.clock.milliseconds): \(step)")
        if steps.count > 20_000 { steps.removeFirst(10_000) }
        counts[String(step.prefix { $0 != " " }), default: 0] += 1
    }

    // MARK: - Steps

    private func step() throws {
        pausedThreads.allHaveArrived()
        switch random.below(1_000) {
        case ..<300: try submit()
        case ..<350: try collect()
        case ..<380: try fire()
        case ..<448: try cancel()
        case ..<450: try cancelAll(of: Self.addresses.randomElement(using: &random) ?? "one")
        case ..<700: try endOne()
        case ..<720: try submitAgain()
        case ..<740: try seeToFailed()
        case ..<850: try advance(byMilliseconds: Int64(random.below(random.chance(20) ? 3_000 : 5)))
        case ..<880: try pauseOrResume()
        case ..<960: try lookAtSome()
        case ..<962: return try sweep()
        case ..<990: return try submitAndCrash()
        case ..<996: return try crash("crash")
        default: return try shutDown()
        }
        try settle()
    }

    private func submit() throws {
        for _ in 0...random.below(4) where book.live.count < Self.liveCountMax { try submitOne() }
    }

    private func submitOne() throws {
        let isVolatile = random.chance(15)
        let retryCountMax = random.chance(30) ? random.below(3) : 0
        let delay = random.chance(isCrowded ? 60 : 20) ? Int64(random.below(4_000)) : 0
        let timeLimit = random.chance(20) ? Int64(1 + random.below(2_000)) : nil
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
                isInSequence: delay == 0, timeLimit: timeLimit)
        }
        let entry = try book[token]
        note("submit \(entry.summary), delay \(delay)")
        let due = world.clock.millisecondsRoundedUp + delay
        try world.ask(Self.command(for: entry, delay: delay)) { [unowned self] reply in
            try accepted(token, reply, as: delay > 0 ? .delayed(until: due) : .waiting)
        }
    }

    private static func command(for entry: Book.Entry, delay: Int64 = 0) -> [CommandArgument] {
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
        if delay > 0 { command += ["DELAY", .integer(Int(delay))] }
        return command + [.integer(entry.token)]
    }

    /// Hands in once more what was handed in under a name.
    private func submitAgain() throws {
        let named = book.entries.values.filter {
            $0.uniqueName != nil && $0.id != nil && $0.state != .asked && $0.state != .gone
        }.sorted { $0.token < $1.token }
        guard let entry = named.suffix(20).randomElement(using: &random), let id = entry.id else {
            return
        }
        note("submit again \(entry.token), job \(id)")
        try world.ask(Self.command(for: entry)) { [unowned self] reply in
            try observe()
            guard case .integer(Int(id)) = reply else {
                throw SimulationFault("job \(id), handed in again, was answered \(reply)")
            }
        }
    }

    /// Lets a job that has failed for good run again, or forgets it.
    private func seeToFailed() throws {
        let failed = book.entries.values.filter {
            $0.state == .ended(.failed) && !$0.isVolatile && $0.id != nil
        }.sorted { $0.token < $1.token }
        guard let entry = failed.suffix(20).randomElement(using: &random), let id = entry.id else {
            return
        }
        let isDropped = random.chance(40)
        note("\(isDropped ? "drop" : "run again") \(entry.token), job \(id)")
        try world.ask([isDropped ? "DROP" : "RETRY", .integer(Int(id))]) { [unowned self] reply in
            guard case .integer(1) = reply else {
                throw SimulationFault("job \(id) that had failed was answered \(reply)")
            }
            try book.change(entry.token) { entry in
                entry.state = isDropped ? .gone : .waiting
                entry.forgivenCount = entry.attempt
                entry.isInSequence = false
                entry.isCancelAsked = false
                entry.mustEnd = false
            }
            try observe()
        }
    }

    private func collect() throws {
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

    private func fire() throws {
        let address = Self.addresses.randomElement(using: &random) ?? "one"
        note("fire \(address)")
        let fired = book.live.filter {
            $0.state == .buffered
                && ($0.address == address || address == "two" && $0.address != "one")
        }
        for entry in fired { try book.change(entry.token) { $0.isFireAsked = true } }
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

    private func cancel() throws {
        let known = book.entries.values.filter { $0.id != nil && $0.state != .gone }
            .sorted { $0.token < $1.token }
        // Few of those that are known run.
        let running = known.filter { if case .running = $0.state { true } else { false } }
        let chosen = random.chance(30) && !running.isEmpty ? running : known
        guard let entry = chosen.randomElement(using: &random), let id = entry.id else { return }
        note("cancel \(entry.token), job \(id), \(entry.state)")
        let token = entry.token
        try book.letOthersPass(token)
        try book.change(token) { $0.isCancelUnanswered = true }
        try world.ask(["CANCEL", .integer(Int(id))]) { [unowned self] reply in
            try cancelled(token, reply)
        }
    }

    private func cancelled(_ token: Int, _ reply: RESPValue) throws {
        try observe()
        try book.change(token) { entry in
            let expected: Set<String>
            entry.isCancelUnanswered = false
            switch entry.state {
            case .running:
                expected = ["requested"]
                entry.isCancelAsked = true
                entry.mustEnd = !entry.isVolatile
            case .ended: expected = ["toolate"]
            case .asked, .gone: return
            case .delayed, .buffered, .waiting, .pausing:
                expected = ["cancelled"]
                entry.state = .ended(.cancelled)
            }
            guard let answer = reply.text, expected.contains(answer) else {
                throw SimulationFault(
                    "CANCEL of job \(entry.id ?? 0), \(entry.state), was answered \(reply)")
            }
        }
    }

    /// Takes back all that was handed in for an address.
    private func cancelAll(of address: String) throws {
        note("cancel all of \(address)")
        let meant = book.live.filter {
            $0.address == address || address == "two" && $0.address != "one"
        }.map(\.token)
        for token in meant {
            try book.letOthersPass(token)
            try book.change(token) { $0.isCancelUnanswered = true }
        }
        try world.ask(["CANCEL", .text(address), "play"]) { [unowned self] reply in
            try observe()
            var (count, uncertainCount) = (0, 0)
            for token in meant where book.knows(token) {
                try book.change(token) { entry in
                    entry.isCancelUnanswered = false
                    switch entry.state {
                    case .delayed, .buffered, .waiting, .pausing:
                        entry.state = .ended(.cancelled)
                        count += 1
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

    private func endOne() throws {
        let running = book.live.filter { if case .running = $0.state { true } else { false } }
        guard let entry = running.randomElement(using: &random) else { return }
        let isOverTime = world.clock.now().nanoseconds >= entry.deadline
        let end = randomEnd(of: entry, isOverTime: isOverTime)
        note("end \(entry.token): \(end)\(isOverTime ? ", over its time" : "")")
        try book.end(entry.token, end, at: world.clock.milliseconds, isOverTime: isOverTime)
        world.stage.end(entry.token, end)
    }

    private func randomEnd(of entry: Book.Entry, isOverTime: Bool) -> Stage.End {
        if entry.isCancelAsked || isOverTime, random.chance(70) { return .interrupted }
        if random.chance(30) { return .failed }
        return .done(byteCount: random.chance(20) ? 200 : 2)
    }

    private func advance(byMilliseconds count: Int64) throws {
        note("advance by \(count)")
        // And a part of the next one: what is due is so to the nanosecond.
        let part = Int64(random.below(1_000_000))
        world.clock.advance(byNanoseconds: count * 1_000_000 + part)
        book.advance(byMilliseconds: count)
    }

    private func pauseOrResume() throws {
        let member = Self.members.randomElement(using: &random) ?? "one"
        let isPaused = pausedThreads.contains(member)
        note("\(isPaused ? "resume" : "pause") \(member)")
        pausedThreads.ask(member)
        try world.ask([isPaused ? "RESUME" : "PAUSE", .text(member)]) { [unowned self] reply in
            guard case .simpleString("OK") = reply else {
                throw SimulationFault("\(member) was answered \(reply)")
            }
            // What began before is no fault.
            try observe()
            pausedThreads.answered(member, isPaused: !isPaused)
        }
    }

    private func lookAtSome() throws {
        for entry in book.entries.values.filter({ $0.id != nil && $0.state != .gone })
            .sorted(by: { $0.token < $1.token }).shuffled(using: &random).prefix(5)
        // A look at one may be the moment in which another is forgotten.
        where book.knows(entry.token) { try look(entry.token) }
    }

    // MARK: - Nothing left

    /// Takes back all that waits, lets all end that runs, and looks whether anything is counted still.
    private func sweep() throws {
        note("sweep")
        for thread in ["one", "two"] { try cancelAll(of: thread) }
        try settle()
        for entry in book.live {
            guard case .running = entry.state else { continue }
            try book.end(entry.token, .done(byteCount: 2), at: world.clock.milliseconds)
            world.stage.end(entry.token, .done(byteCount: 2))
        }
        try settle()
        // What was there before a crash is counted little by little.
        var figures = ""
        for _ in 0..<200 {
            try world.ask(["INFO", "jobs"]) { figures = $0.text ?? "" }
            try settle()
            if Self.liveStates.allSatisfy({ figures.contains("\($0)_jobs:0\r\n") }) { return }
            world.clock.advance(byMilliseconds: 1)
            book.advance(byMilliseconds: 1)
            try settle()
        }
        throw SimulationFault("nothing is left, and INFO says \(figures)")
    }

    private static let liveStates = ["delayed", "buffered", "waiting", "running"]

    // MARK: - Ends of the daemon

    private func submitAndCrash() throws {
        try submit()
        if random.chance(50) { try fire() }
        // Not both: a job may be asked to end while the desk is told of its end.
        if random.chance(50) {
            try endOne()
        } else if random.chance(60) {
            try cancel()
        } else if random.chance(60) {
            try cancelAll(of: Self.addresses.randomElement(using: &random) ?? "one")
        }
        if random.chance(30) { try pauseOrResume() }
        for _ in 0..<random.below(3) { _ = try world.servePass() }
        try crash("crash in the middle")
    }

    private func crash(_ what: String) throws {
        note(what)
        try world.crash { try observe() }
        try book.crash(at: world.clock.milliseconds)
        try comeBack()
    }

    private func shutDown() throws {
        note("shutdown")
        try settle()
        var interrupted: Set<Int> = []
        var hasWaited = false
        try world.shutDown {
            try observe()
            let running = book.live.filter {
                if case .running = $0.state { !interrupted.contains($0.token) } else { false }
            }
            guard let entry = running.first else { return false }
            if hasWaited {
                interrupted.insert(entry.token)
                world.stage.end(entry.token, .interrupted)
            } else if random.chance(50) {
                let end = Stage.End.done(byteCount: 2)
                try book.end(entry.token, end, at: world.clock.milliseconds)
                world.stage.end(entry.token, end)
            } else {
                hasWaited = true
                return false
            }
            return true
        }
        // Who was asked by a client to end, and did, is not put back.
        for token in interrupted where try book[token].isCancelAsked {
            try book.end(token, .interrupted, at: world.clock.milliseconds)
            interrupted.remove(token)
        }
        try book.shutDown(interrupted: interrupted)
        try comeBack()
    }

    /// Looks at all that there is after a restart.
    private func comeBack() throws {
        pausedThreads.allHaveArrived()
        try world.settle()
        try observe()
        try world.ask(["THREADS"]) { [unowned self] in try pausedThreads.check($0) }
        try world.settle()
        for entry in book.entries.values.sorted(by: { $0.token < $1.token })
        where entry.id != nil && entry.state != .gone && book.knows(entry.token) {
            try look(entry.token)
        }
        try settle()
    }

    // MARK: - Looking

    private func settle() throws {
        try world.settle()
        try observe()
        try book.checkSequence()
        let now = world.clock.milliseconds
        try book.checkNothingWaits(at: now, isCrowded: isCrowded) { thread in
            pausedThreads.goesOn(thread) && !world.stage.isPlaying(on: thread)
        }
    }

    private func observe() throws {
        for entry in world.stage.takeEntries() {
            note("began \(entry.token), job \(entry.id), attempt \(entry.attempt), \(entry.thread)")
            try pausedThreads.checkBegin(of: entry.id, on: entry.thread)
            try book.begin(entry, at: world.clock.milliseconds)
            let now = world.clock.now().nanoseconds
            try book.change(entry.token) { job in
                job.deadline = job.timeLimit.map { now + $0 * 1_000_000 } ?? .max
            }
        }
    }

    /// Compares what the daemon says of a job with what is known of it.
    private func look(_ token: Int) throws {
        guard let id = try book[token].id else { return }
        try world.ask(["JOB", .integer(Int(id))]) { [unowned self] reply in
            try observe()
            guard book.knows(token) else { return }
            guard let shown = Self.state(in: reply) else {
                throw SimulationFault("JOB \(id) was answered \(reply)")
            }
            let now = world.clock.milliseconds
            try book.check(token, isIn: shown, at: now)
            try book.change(token) { entry in
                if case .pausing(_, _, isKnown: false) = entry.state {
                    entry.state = shown == .delayed ? Self.pausing(reply) : .waiting
                }
                guard entry.state == .asked else { return }
                switch shown {
                case .waiting: entry.state = .waiting
                case .delayed: entry.state = Self.pausing(reply)
                case .buffered: entry.state = .buffered
                case .running: break
                case .done, .failed, .cancelled:
                    entry.state = .ended(shown)
                    entry.isEndCertain = true
                }
            }
        }
    }

    private static func pausing(_ reply: RESPValue) -> Book.State {
        guard case .integer(let due)? = reply["due-at"] else { return .waiting }
        let moment = Int64(due) - SimulatedClock.beginning
        return .pausing(from: moment, to: moment)
    }

    private static func state(in reply: RESPValue) -> JobState? {
        reply["state"]?.text.flatMap { JobState(rawValue: $0) }
    }
}
