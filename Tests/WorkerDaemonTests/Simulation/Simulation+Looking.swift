// Comparisons of begun jobs, and of the daemon's answers about jobs, with the book.

import Jobs
import Kernel
import RESP
import Support

extension Simulation {
    func lookAtSome() throws {
        for entry in book.entries.values.filter({ $0.id != nil && $0.state != .gone })
            .sorted(by: { $0.token < $1.token }).shuffled(using: &random).prefix(5)
        // A look at one may be the moment in which another is forgotten.
        where book.knows(entry.token) { try look(entry.token) }
    }

    func settle() throws {
        try world.settle()
        try observe()
        try book.expire(at: world.clock.milliseconds)
        try world.checkFigures()
        try book.checkSequence()
        let now = world.clock.milliseconds
        try book.checkNothingWaits(at: now, isCrowded: isCrowded) { thread in
            pausedThreads.goesOn(thread) && !world.stage.isPlaying(on: thread)
        }
    }

    func observe() throws {
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
    func look(_ token: Int) throws {
        guard let id = try book[token].id else { return }
        try world.ask(["JOB", .integer(Int(id))]) { [unowned self] reply in
            try observe()
            guard book.knows(token) else { return }
            guard let shown = Self.state(in: reply) else {
                throw SimulationFault("JOB \(id) was answered \(reply)")
            }
            let (now, shift) = (world.clock.milliseconds, book.wallShift)
            try book.check(token, isIn: shown, at: now)
            try book.change(token) { entry in
                if let moment = reply["expires-at"]?.integer, entry.expiry != nil {
                    let expiry = Int64(moment) - SimulatedClock.beginning
                    entry.expiry = expiry...expiry
                }
                if shown == .expired, !entry.isOver {
                    entry.state = .ended(.expired)
                    entry.isEndCertain = false
                    return
                }
                // A decision after an attempt may not have been written before a crash.
                if !entry.isOver { entry.wallDue = Self.wallDue(reply) }
                if case .pausing(_, _, isKnown: false) = entry.state {
                    entry.state = shown == .delayed ? Self.delayed(&entry, reply, shift) : .waiting
                }
                guard entry.state == .asked else { return }
                switch shown {
                case .waiting: entry.state = .waiting
                case .delayed: entry.state = Self.delayed(&entry, reply, shift)
                case .buffered: entry.state = .buffered
                case .running: break
                case .done, .failed, .cancelled, .expired:
                    entry.state = .ended(shown)
                    entry.isEndCertain = true
                }
            }
        }
    }

    /// Where a job is that was read from its file and is not due yet.
    private static func delayed(
        _ entry: inout Book.Entry, _ reply: RESPValue, _ wallShift: Int64
    ) -> Book.State {
        guard let due = wallDue(reply) else { return .waiting }
        entry.wallDue = due
        let moment = due.lowerBound - wallShift
        entry.goesByWall = entry.attempt == 0
        return entry.goesByWall ? .delayed(until: moment) : .pausing(from: moment, to: moment)
    }

    private static func wallDue(_ reply: RESPValue) -> ClosedRange<Int64>? {
        guard case .integer(let due)? = reply["due-at"] else { return nil }
        let moment = Int64(due) - SimulatedClock.beginning
        return moment...moment
    }

    private static func state(in reply: RESPValue) -> JobState? {
        reply["state"]?.text.flatMap { JobState(rawValue: $0) }
    }
}
