// Random operations on a daemon, and after each of them a look at whether all that it has promised
// is so.

import Jobs
import Kernel
import StoreTwin
import Support
import WorkerDaemon

/// One run of a simulation.
///
/// Confined to the thread that made it.
final class Simulation {
    let world: World
    var book = Book()
    var random: SeededRandom
    var pausedThreads = PausedThreads()
    /// The latest steps, to be told with a fault.
    private var steps: [String] = []
    private var stepCount = 0
    private let windowCount: Int
    let isCrowded: Bool
    /// How many threads the pool has.
    var poolCount = 2
    /// Counts, so that a run can be seen to have tried everything.
    private(set) var counts: [String: Int] = [:]

    static let addresses = ["one", "one", "two", "two", "two/1", "two/2"]
    static let members = ["one", "two/1", "two/2"]
    static let liveCountMax = 60

    init(seed: UInt64, directory: String) throws {
        random = SeededRandom(seed: seed)
        // With a small window, waiting jobs are parked, loaded and parked again all the time.
        let isSmall = random.chance(50)
        let window = isSmall ? WindowLimits(countMax: 4 + random.below(5)) : WindowLimits()
        windowCount = window.countMax
        isCrowded = isSmall
        // Every second one with the twin of the store in a file.
        world = try World(directory, window, hasTwin: seed % 2 == 0)
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
            let isEndOfLife =
                step.contains("crash") || step.contains("shutdown")
                || step.contains("clock")
            return isEndOfLife || step.split { !$0.isNumber }.contains { $0 == token ?? "" }
        }
        return before + steps.suffix(40)
    }

    func note(_ step: String) {
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
        case ..<885: try setClock()
        case ..<890: try reload()
        case ..<960: try lookAtSome()
        case ..<968: try askSeveralThings()
        case ..<975: try askOfSlowStore(besideCrash: false)
        case ..<977: return try sweep()
        case ..<979: try submitRefused()
        case ..<990: return try submitAndCrash()
        case ..<996: return try crash("crash")
        default: return try shutDown()
        }
        try settle()
    }

    func endOne() throws {
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

    /// Sets the clock on the wall forward or back.
    ///
    /// Not where much is parked: that has no other date than the clock's, so when it is due depends
    /// on when it was brought into memory, of which a book knows nothing.
    private func setClock() throws {
        guard !isCrowded else { return }
        let count = Int64(random.below(6_000)) - 3_000
        note("set the clock by \(count)")
        try book.setWall(byMilliseconds: count, at: world.clock.milliseconds)
        try world.setClock(byMilliseconds: count)
    }

    private func advance(byMilliseconds count: Int64) throws {
        note("advance by \(count)")
        // And a part of the next one: what is due is so to the nanosecond.
        let part = Int64(random.below(1_000_000))
        world.clock.advance(byNanoseconds: count * 1_000_000 + part)
        book.advance(byMilliseconds: count)
    }
}
