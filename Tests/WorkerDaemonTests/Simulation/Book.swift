// The book of a simulation: the plain model that the daemon is compared with. It knows what was
// asked, what was answered and what has happened, and from that what may happen next.

import Jobs
import RESP

/// The jobs of a simulation, by what their client calls them.
struct Book {
    /// Where a job is, as far as that is known.
    enum State: Equatable {
        /// It was asked for and not answered: it may exist.
        case asked
        /// Not to begin before this moment, in milliseconds of the clock.
        case delayed(until: Int64)
        case buffered
        case waiting
        case running(thread: String)
        /// It begins anew between these moments; those that it holds up wait until it has ended, if
        /// that it failed is known to be written down.
        case pausing(from: Int64, to: Int64, isKnown: Bool = true)
        case ended(JobState)
        /// It was in memory, and its daemon died; or it was never accepted.
        case gone
    }

    private(set) var entries: [Int: Entry] = [:]
    private var tokens: [UInt64: Int] = [:]
    private(set) var nextToken = 1
    /// How far the clock on the wall was set forward, in milliseconds.
    private(set) var wallShift: Int64 = 0
    /// How often at least a millisecond has passed.
    private var leapCount = 0
    /// Jobs that have begun for the first time since the threads were at rest.
    private var firstBegun: [Int] = []
    /// Jobs that have ended and are still looked at.
    private var overdue: [Int] = []
    private static let rememberedCount = 200

    subscript(token: Int) -> Entry {
        get throws {
            guard let entry = entries[token] else {
                throw SimulationFault("token \(token) is not known, or its job ended long ago")
            }
            return entry
        }
    }

    /// Notes a wish for a job.
    ///
    /// - Parameter make: makes the entry under the token that it is given.
    mutating func add(_ make: (Int) -> Entry) -> Int {
        let token = nextToken
        nextToken += 1
        entries[token] = make(token)
        return token
    }

    /// Whether a job has not been forgotten.
    func knows(_ token: Int) -> Bool { entries[token] != nil }

    /// A job is to be taken back: those that it holds up may begin before that is answered.
    mutating func letOthersPass(_ token: Int) throws {
        try change(token) { entry in
            guard case .pausing(let from, let to, _) = entry.state else { return }
            entry.state = .pausing(from: from, to: to, isKnown: false)
        }
    }

    /// Changes what is known of a job.
    mutating func change(_ token: Int, _ body: (inout Entry) throws -> Void) throws {
        // A job that ended long ago may have been forgotten before its answer came.
        guard var entry = entries[token] else { return }
        let wasOver = entry.isOver
        try body(&entry)
        entries[token] = entry
        // One that lives again is not to be forgotten for its first end right after its second.
        if wasOver, !entry.isOver { overdue.removeAll { $0 == token } }
        guard entry.isOver, !wasOver else { return }
        overdue.append(token)
        // Of those that are over, the latest are remembered: none of them may begin again.
        if overdue.count > Self.rememberedCount {
            let forgotten = Self.rememberedCount / 2
            for token in overdue.prefix(forgotten) where entries[token]?.isOver == true {
                entries[token] = nil
            }
            overdue.removeFirst(forgotten)
        }
    }

    /// The jobs that have not ended, in the sequence in which they were asked for.
    var live: [Entry] {
        entries.values.filter { !$0.isOver }.sorted { $0.token < $1.token }
    }

    /// The threads that are there for what is addressed so.
    static func threads(of address: String) -> Set<String> {
        address == "two" ? ["two/1", "two/2"] : [address]
    }

    /// Whether a thread may run what is addressed so: a reload may have given the pool a third one.
    private static func mayRun(_ address: String, on thread: String) -> Bool {
        threads(of: address).contains(thread) || address == "two" && thread == "two/3"
    }

    // MARK: - What happens

    /// So many milliseconds have passed.
    mutating func advance(byMilliseconds count: Int64) {
        if count > 0 { leapCount += 1 }
    }

    /// The clock on the wall was set, so many milliseconds forward.
    mutating func setWall(byMilliseconds count: Int64, at now: Int64) throws {
        wallShift += count
        for token in entries.keys.sorted() {
            try change(token) { entry in
                guard case .delayed(let moment) = entry.state else { return }
                // A job that was due stays due, whatever the clock says then.
                if moment <= now {
                    entry.state = .waiting
                } else if entry.goesByWall {
                    entry.state = .delayed(until: moment - count)
                }
            }
        }
    }

    /// Where a job is when it has been read from its file, which goes by the clock on the wall.
    ///
    /// If that was set back, it may wait once more for a moment that had come, unless a command has
    /// made it due.
    private func reread(_ entry: Entry, at now: Int64) -> State {
        guard !entry.isDue, let due = entry.wallDue, due.upperBound - wallShift > now else {
            return .waiting
        }
        var (from, to) = (due.lowerBound - wallShift, due.upperBound - wallShift)
        if entry.attempt == 0 { return .delayed(until: to) }
        // A restart shortens a pause that a clock set back has made longer than it can be.
        let longest = now + Int64(1_000) << Int64(entry.attempt - entry.forgivenCount - 1) * 5 / 4
        (from, to) = (min(from, longest), min(to, longest))
        return .pausing(from: from, to: to, isKnown: from > now)
    }

    /// A job has begun; says why it may not have.
    mutating func begin(_ begun: Stage.Entry, at now: Int64) throws {
        // It may begin before it is answered.
        let wallNow = now + wallShift
        try change(begun.token) { $0.runAgain(atWall: wallNow) }
        let entry = try self[begun.token]
        let name = "job \(begun.id) (token \(begun.token))"
        switch entry.state {
        case .asked, .waiting: break
        case .delayed(let moment) where moment <= now: break
        case .pausing(let from, _, _) where from <= now: break
        case .buffered where entry.isFireAsked: break
        default:
            throw SimulationFault("\(name) began at \(now), and was \(entry.state)")
        }
        if let id = entry.id, id != begun.id {
            throw SimulationFault("\(name) was accepted as job \(id)")
        }
        guard begun.attempt == entry.attempt + 1 else {
            throw SimulationFault(
                "\(name) began as attempt \(begun.attempt), after \(entry.attempt) others")
        }
        if entry.mustEnd {
            throw SimulationFault("\(name) began anew although it was asked to end")
        }
        if let blocker = blocker(of: entry) {
            throw SimulationFault("\(name) began although job \(blocker.id ?? 0) holds it up")
        }
        if let key = entry.key, let other = runningTogether(with: entry) {
            throw SimulationFault("\(name) began beside job \(other.id ?? 0) of key \(key)")
        }
        guard Self.mayRun(entry.address, on: begun.thread) else {
            throw SimulationFault("\(name) for \(entry.address) runs on \(begun.thread)")
        }
        if entry.attempt == 0, entry.isInSequence { firstBegun.append(begun.token) }
        try change(begun.token) {
            $0.id = begun.id
            $0.attempt = begun.attempt
            $0.state = .running(thread: begun.thread)
        }
    }

    /// A job that runs is let end.
    ///
    /// - Parameter isOverTime: whether its time is up: then it is that which interrupts it.
    mutating func end(
        _ token: Int, _ end: Stage.End, at now: Int64, isOverTime: Bool = false
    ) throws {
        let leaps = leapCount
        let wallShift = wallShift
        try change(token) { entry in
            let mayRetry =
                entry.attempt - entry.forgivenCount <= entry.retryCountMax && !entry.isCancelAsked
            entry.endedAfterLeaps = leaps
            switch end {
            case .done(let byteCount):
                entry.state = .ended(.done)
                entry.isEndCertain = byteCount <= 96
            case .interrupted where entry.isCancelAsked || !isOverTime:
                entry.state = .ended(.cancelled)
                // If it was asked to: by then, that is written.
                entry.isEndCertain = entry.mustEnd
            case .failed where mayRetry, .interrupted where mayRetry:
                let pause = Int64(1_000) << Int64(entry.attempt - entry.forgivenCount - 1)
                let (from, to) = (now + pause * 3 / 4, now + pause * 5 / 4)
                entry.state = .pausing(from: from, to: to)
                entry.becomeDue(from + wallShift...to + wallShift)
                entry.isInSequence = false
            case .failed, .interrupted:
                entry.state = .ended(.failed)
                entry.isEndCertain = false
            }
            entry.deadline = .max
        }
    }

    /// The daemon has died.
    mutating func crash(at now: Int64) throws {
        let leaps = leapCount
        let book = self
        for token in entries.keys.sorted() where entries[token] != nil {
            try change(token) { entry in
                if entry.isVolatile {
                    entry.state = .gone
                    return
                }
                entry.goesByWall = entry.attempt == 0
                let isCancelUnanswered = entry.unansweredCancelCount > 0
                entry.unansweredCancelCount = 0
                entry.isCancelAskedTwice = false
                entry.deadline = .max
                switch entry.state {
                case .running where entry.mustEnd:
                    entry.state = .ended(.cancelled)
                    entry.isEndCertain = true
                case .asked, .running, .delayed, .buffered, .waiting, .pausing:
                    guard isCancelUnanswered else { break }
                    // Whether it was cancelled is seen when it is next looked up.
                    entry.state = .asked
                    entry.isFireAsked = false
                    entry.isCancelAsked = false
                    return
                case .ended, .gone: break
                }
                switch entry.state {
                case .running:
                    entry.state = book.reread(entry, at: now)
                    entry.isCancelAsked = false
                case .buffered where entry.isFireAsked:
                    entry.state = .asked
                    entry.isFireAsked = false
                case .pausing:
                    // A decision after the attempt may not have been written.
                    let due = max(entry.wallDue?.upperBound ?? .min, entry.wallDueBefore)
                    let to = due == .min ? now : max(now, due - book.wallShift)
                    entry.state = .pausing(from: now, to: to, isKnown: false)
                case .delayed, .waiting: entry.state = book.reread(entry, at: now)
                case .ended where !entry.isEndCertain && entry.endedAfterLeaps + 2 > leaps:
                    // Seen when it is next looked up, in Simulation.look.
                    entry.state = .asked
                    entry.isCancelAsked = false
                case .asked, .buffered, .ended, .gone: break
                }
            }
        }
    }

    /// A thread that runs nothing has gone: jobs in memory only are cancelled with it.
    mutating func lose(_ thread: String) throws {
        for token in entries.keys.sorted() {
            try change(token) { entry in
                guard entry.address == thread, entry.isVolatile, !entry.isOver else { return }
                entry.state = .ended(.cancelled)
                entry.isEndCertain = true
            }
        }
    }

    /// The daemon has gone down in order; `interrupted` had not ended.
    mutating func shutDown(interrupted: Set<Int>, at now: Int64) throws {
        let book = self
        for token in entries.keys.sorted() where entries[token] != nil {
            try change(token) { entry in
                if entry.isVolatile {
                    entry.state = .gone
                    return
                }
                entry.isEndCertain = true
                if interrupted.contains(token) {
                    entry.state = .waiting
                    entry.attempt -= 1
                }
                entry.goesByWall = entry.attempt == 0
                switch entry.state {
                case .waiting, .delayed, .pausing: entry.state = book.reread(entry, at: now)
                case .asked, .buffered, .running, .ended, .gone: break
                }
            }
        }
    }

    // MARK: - Orders

    /// The job that one has to wait for, if that is known.
    func blocker(of entry: Entry) -> Entry? {
        entries.values.first { other in
            guard case .pausing(_, _, isKnown: true) = other.state else { return false }
            return holdsUp(other, entry)
        }
    }

    /// Whether another job may be one that this one has to wait for.
    private func mayBeHeldUp(_ entry: Entry) -> Bool {
        entries.values.contains { other in
            switch other.state {
            case .pausing, .asked: holdsUp(other, entry)
            case .waiting: other.attempt > 0 && holdsUp(other, entry)
            case .running: other.attempt > 1 && holdsUp(other, entry)
            case .delayed, .buffered, .ended, .gone: false
            }
        }
    }

    /// Whether a job holds up another one while it is tried again.
    private func holdsUp(_ blocker: Entry, _ other: Entry) -> Bool {
        guard blocker.blocks, blocker.token != other.token, blocker.address == other.address else {
            return false
        }
        // A job that has not begun holds up no other, whatever it waits for.
        guard blocker.attempt > blocker.forgivenCount else { return false }
        if let key = blocker.key { return other.key == key }
        return blocker.address != "two"
    }

    /// Whether jobs of the same queue may wait for something else than a free thread.
    private func isInCrowd(_ entry: Entry) -> Bool {
        entries.values.contains { other in
            other.token != entry.token && other.address == entry.address && !other.isOver
                && (other.key != nil || other.blocks)
        }
    }

    /// A job of the same key that runs.
    private func runningTogether(with entry: Entry) -> Entry? {
        entries.values.first { other in
            guard case .running = other.state, other.token != entry.token else { return false }
            return other.key == entry.key && other.address == entry.address
        }
    }

    // MARK: - What must be so

    /// Says whether one of those that have begun was not at the head of its queue.
    ///
    /// The threads are at rest: two that become free together may begin in either sequence.
    mutating func checkSequence() throws {
        defer { firstBegun.removeAll() }
        guard !firstBegun.isEmpty else { return }
        let waiting = entries.values.filter {
            $0.state == .waiting && $0.attempt == 0 && $0.isInSequence && $0.id != nil
        }
        for token in firstBegun {
            guard let begun = entries[token], let id = begun.id else { continue }
            let passed = waiting.first { other in
                other.address == begun.address && other.priority == begun.priority
                    // A key waits for its thread while others go on, and for who holds it up.
                    && other.key == begun.key && !mayBeHeldUp(other)
                    && other.isVolatile == begun.isVolatile && other.id ?? .max < id
            }
            if let passed {
                throw SimulationFault(
                    "job \(id) began before job \(passed.id ?? 0) (token \(passed.token))")
            }
        }
    }

    /// Ends what has not begun in time.
    ///
    /// The threads and the store are at rest.
    mutating func expire(at now: Int64) throws {
        let (leaps, wallNow) = (leapCount, now + wallShift)
        for token in entries.keys.sorted() {
            try change(token) { entry in
                guard entry.hasExpired(atWall: wallNow, isCertain: true) else { return }
                entry.state = .ended(.expired)
                entry.isEndCertain = false
                entry.endedAfterLeaps = leaps
            }
        }
    }

    /// Says whether something waits for a thread that is free.
    ///
    /// - Parameters:
    ///   - isCrowded: whether jobs that wait for another one, or for the thread of their key, may
    ///     be all of their queue that memory holds, so that others stay parked behind them.
    ///   - isFree: whether a thread is neither paused nor busy.
    func checkNothingWaits(
        at now: Int64, isCrowded: Bool, isFree: (String) -> Bool
    ) throws {
        for entry in entries.values {
            switch entry.state {
            case .waiting: break
            case .delayed(let moment) where moment <= now: break
            case .pausing(_, let to, _) where to <= now: break
            default: continue
            }
            if mayBeHeldUp(entry) { continue }
            if isCrowded, isInCrowd(entry) { continue }
            // A key is with one thread as long as it has work there, and waits for that one.
            if entry.key != nil, !Self.threads(of: entry.address).allSatisfy(isFree) { continue }
            if let thread = Self.threads(of: entry.address).first(where: isFree) {
                throw SimulationFault(
                    "job \(entry.id ?? 0) (token \(entry.token)) for \(entry.address) is "
                        + "\(entry.state) at \(now), and \(thread) is free")
            }
        }
    }

    /// Says whether a job's state is another one than the daemon says.
    func check(_ token: Int, isIn shown: JobState, at now: Int64) throws {
        let entry = try self[token]
        let mayBe: [JobState] =
            switch entry.state {
            case .asked, .gone: JobState.allCases
            case .delayed(let moment): moment <= now ? [.waiting] : [.delayed]
            case .buffered: [.buffered]
            case .waiting: [.waiting]
            case .running: [.running]
            case .pausing(let from, let to, _):
                now < from ? [.delayed] : now < to ? [.delayed, .waiting] : [.waiting]
            case .ended(let state): [state]
            }
        let isExpired =
            shown == .expired && entry.hasExpired(atWall: now + wallShift, isCertain: false)
        guard mayBe.contains(shown) || isExpired else {
            throw SimulationFault(
                "job \(entry.id ?? 0) (token \(token)) is \(shown) at \(now), not \(entry.state)")
        }
    }
}
