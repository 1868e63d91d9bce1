// A fixed sequence of transactions, and a plain model of their results: the contents that the store
// must have whatever the disk does in between.

import Jobs
import SQLiteJobs
import Support

/// Transactions that touch every part of the store.
struct StoreScript {
    enum Operation {
        case accept(Job)
        case release(UInt64)
        case start(UInt64, attempt: Int)
        case retry(UInt64, attempt: Int)
        case putBack(UInt64, attempt: Int)
        case end(UInt64, attempt: Int?, Outcome)
        case reserve(UInt64)
        case touch
    }

    struct Step {
        var isSynced: Bool
        var operations: [Operation]
    }

    let steps: [Step]

    /// Ended jobs beyond these are dropped, so that dropping is part of the script.
    static let limits: StoreLimits = {
        var limits = StoreLimits()
        limits.retainedCountMax = 6
        limits.failedCountMax = 3
        return limits
    }()
    /// A log so short that it is moved into the database every few transactions.
    static let logPageCountMax = 24
    static let threads = ["mail", "images"]

    init(seed: UInt64, steps count: Int) {
        var random = SeededRandom(seed: seed)
        var next: UInt64 = 1
        var live: [UInt64] = []
        steps = (0..<count).map { index in
            var step = Step(isSynced: !random.chance(35), operations: [])
            for _ in 0...random.below(3) {
                let id = live.randomElement(using: &random)
                let choice = random.below(10)
                switch (choice, id) {
                case (0...3, _), (_, nil):
                    step.operations.append(.accept(Self.job(next, &random)))
                    live.append(next)
                    next += 1
                case (4, .some(let id)): step.operations.append(.start(id, attempt: 1))
                case (5, .some(let id)): step.operations.append(.retry(id, attempt: 2))
                case (6, .some(let id)): step.operations.append(.putBack(id, attempt: 0))
                case (7, .some(let id)): step.operations.append(.release(id))
                case (_, .some(let id)):
                    let outcomes: [Outcome] = [
                        .done([UInt8(index)]), .failed(reason: "no"), .timedOut, .cancelled,
                    ]
                    let outcome = outcomes[random.below(4)]
                    let attempt = random.chance(50) ? 3 : nil
                    step.operations.append(.end(id, attempt: attempt, outcome))
                    live.removeAll { $0 == id }
                }
            }
            if random.chance(15) {
                step.operations.append(.reserve(next + 100))
                next += 100
            }
            if step.isSynced { step.operations.append(.touch) }
            return step
        }
    }

    private static func job(_ number: UInt64, _ random: inout SeededRandom) -> Job {
        let schedules: [JobRequest.Schedule] = [.now, .now, .now, .buffered, .at(5_000)]
        let sizes = [0, 64, 64, 600, 9_000, 20_000]
        return .sample(
            number, thread: threads[random.below(2)],
            payload: [UInt8](repeating: UInt8(number % 251), count: sizes[random.below(6)]),
            schedule: schedules[random.below(5)])
    }
}

/// The contents of a store, in lines.
struct Contents: Hashable {
    var live: [UInt64: String] = [:]
    var ended: [UInt64: String] = [:]
    var nextNumber: UInt64 = 1
}

/// The result of the transactions that have returned.
struct StoreModel {
    private struct Live {
        let job: Job
        var state: JobState
        var attempt = 0
    }

    private var live: [UInt64: Live] = [:]
    private var ended: [UInt64: String] = [:]
    private var endedOrder: [UInt64] = []
    private var failedOrder: [UInt64] = []
    private var reserved: UInt64 = 1

    /// Applies a transaction.
    mutating func apply(_ step: StoreScript.Step) {
        while endedOrder.count > StoreScript.limits.retainedCountMax {
            ended[endedOrder.removeFirst()] = nil
        }
        while failedOrder.count > StoreScript.limits.failedCountMax {
            ended[failedOrder.removeFirst()] = nil
        }
        for operation in step.operations { apply(operation) }
    }

    func applying(_ step: StoreScript.Step) -> StoreModel {
        var model = self
        model.apply(step)
        return model
    }

    private mutating func apply(_ operation: StoreScript.Operation) {
        switch operation {
        case .accept(let job): live[job.id.number] = Live(job: job, state: job.state)
        case .release(let id): live[id]?.state = .delayed
        case .start(let id, let attempt), .putBack(let id, let attempt): live[id]?.attempt = attempt
        case .retry(let id, let attempt):
            live[id]?.attempt = attempt
            live[id]?.state = .delayed
        case .end(let id, let attempt, let outcome):
            guard let job = live.removeValue(forKey: id) else { return }
            ended[id] = "\(job.job.thread) \(attempt ?? job.attempt) \(outcome)"
            if outcome.state == .failed { failedOrder.append(id) } else { endedOrder.append(id) }
        case .reserve(let number): reserved = number
        case .touch: break
        }
    }

    var contents: Contents {
        var contents = Contents()
        for (id, kept) in live {
            contents.live[id] = Contents.line(kept.job, kept.state, kept.attempt)
        }
        contents.ended = ended
        let last = max(live.keys.max() ?? 0, ended.keys.max() ?? 0)
        contents.nextNumber = max(reserved, last + 1)
        return contents
    }
}

extension Contents {
    static func line(_ job: Job, _ state: JobState, _ attempt: Int) -> String {
        let count = job.payload.count
        let isPattern =
            job.payload == [UInt8](repeating: UInt8(job.id.number % 251), count: count)
        return "\(job.thread) \(state) \(attempt) \(count) \(isPattern)"
    }

    /// Reads the whole contents of an open store.
    ///
    /// The next number is that of its opening.
    init(of store: SQLiteStore) throws(StoreFault) {
        for queue in try store.queues() {
            let jobs = try store.inTurn(
                queue, after: JobID(0), limit: .max, byteCount: .max
            ).jobs
            let numbers = jobs.map(\.id.number)
            let isWhole = numbers == numbers.sorted()
            for job in jobs {
                live[job.id.number] =
                    Self.line(job, job.state, job.attempt) + (isWhole ? "" : " in disorder")
            }
        }
        for job in try store.deferred() {
            live[job.id.number] = Self.line(job, job.state, job.attempt)
        }
        for job in try store.listEnded(thread: nil, state: nil, limit: .max, within: .none).jobs {
            // A listing leaves out results.
            guard let whole = try store.job(job.id), let outcome = whole.outcome else { continue }
            ended[job.id.number] = "\(whole.thread) \(whole.attempt) \(outcome)"
        }
        nextNumber = store.nextNumber
    }
}

extension Contents {
    /// The lines in which the two differ.
    func differences(from other: Contents) -> [String] {
        var lines: [String] = []
        for (mine, its) in [(live, other.live), (ended, other.ended)] {
            for (id, line) in mine where its[id] != line { lines.append("has \(id) \(line)") }
            for (id, line) in its where mine[id] != line { lines.append("lacks \(id) \(line)") }
        }
        if nextNumber != other.nextNumber {
            lines.append("next \(nextNumber), not \(other.nextNumber)")
        }
        return lines
    }
}

extension SQLiteStore {
    /// Takes one step of a script.
    func take(_ step: StoreScript.Step, at now: Int64 = 2_000) throws(StoreFault) {
        try transaction(at: now, isSynced: step.isSynced) { () throws(StoreFault) in
            for operation in step.operations {
                switch operation {
                case .accept(let job): try accept(job)
                case .release(let id): try release(JobID(id), at: now)
                case .start(let id, let attempt):
                    try start(JobID(id), Attempt(number: attempt))
                case .retry(let id, let attempt):
                    try retry(JobID(id), Attempt(number: attempt), dueAt: now, at: now)
                case .putBack(let id, let attempt):
                    try putBack(
                        JobID(id), attempt: attempt, forgivenCount: 0, mayExpire: true)
                case .end(let id, let attempt, let outcome):
                    try end(JobID(id), attempt.map { Attempt(number: $0) }, outcome, at: now)
                case .reserve(let number): try reserve(below: number)
                case .touch: try touch()
                }
            }
        }
    }
}

extension StoreDirectory {
    /// Opens the store with the limits of the scripts.
    func openForScript() throws(StoreFault) -> SQLiteStore {
        try SQLiteStore(
            path: database, limits: StoreScript.limits,
            logPageCountMax: StoreScript.logPageCountMax)
    }
}
