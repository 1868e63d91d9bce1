// A daemon's store in a database, as a test plays the daemon: it gives commands, and waits for
// their answers.

import Jobs
import Kernel
import PostgreSQLJobs
import Support
import Synchronization
import Testing

/// A value that several threads set and read.
final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }

    func get() -> Value { value.withLock { $0 } }
    func set(_ change: @Sendable (inout Value) -> Void) { value.withLock { change(&$0) } }
}

/// A daemon's store in a database, alone or one of several.
final class Sharer {
    let store: any JobStore
    let recovery: StoreRecovery
    let loss = Shared<StoreFault?>(nil)
    private let answers = Shared<[StoreAnswer]>([])
    private var lastTicket: UInt64 = 0
    /// The session of the last look.
    private(set) var session = 0
    private var lastNumber: UInt64

    init(_ database: String, attempts: String, isShared: Bool = true) throws {
        guard let address = ServerAddress(database) else { throw Unexpected("address") }
        let loss = loss
        let (journal, recovery) = try PostgreSQLJournal.open(
            address, card: NodeCard(name: "sharer"), attemptsPath: attempts, limits: StoreLimits(),
            serving: ["echo"], log: StoreLog { _, _ in }, isShared: isShared,
            whenLost: { fault in loss.set { $0 = fault } })
        store = journal
        self.recovery = recovery
        lastNumber = recovery.nextNumber - 1
        let answers = answers
        store.add(.answer(to: { new in answers.set { $0 += new } }))
        store.fire()
    }

    var seat: Int64 { store.sharedSeat ?? 1 }

    /// All answers about new jobs, in order.
    var acceptances: [(count: Int, fault: StoreFault?)] {
        answers.get().compactMap { answer in
            if case .accepted(let count, let fault) = answer { (count, fault) } else { nil }
        }
    }

    private func awaitAnswer<Value>(_ read: (StoreAnswer) -> Value?) throws -> Value {
        let end = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < end {
            if let found = answers.get().lazy.compactMap(read).first { return found }
            SystemThread.yield()
        }
        throw Unexpected("the store does not answer")
    }

    /// Asks something.
    func ask<Value>(
        _ command: (UInt64) -> StoreCommand, _ read: @escaping (StoreAnswer, UInt64) -> Value?
    ) throws -> Value {
        lastTicket += 1
        let ticket = lastTicket
        store.add(command(ticket))
        store.fire()
        return try awaitAnswer { read($0, ticket) }
    }

    /// Does commands, and waits until they are kept, or can't be.
    @discardableResult
    func tell(_ commands: StoreCommand...) throws -> StoreFault? {
        for command in commands { store.add(command) }
        return try change { .confirm(ticket: $0) }
    }

    /// Does a command that is confirmed.
    func change(_ command: (UInt64) -> StoreCommand) throws -> StoreFault? {
        try ask(command) { answer, expected in
            if case .confirmed(expected, let fault) = answer { .some(fault) } else { nil }
        }
    }

    /// Accepts a job.
    func accept(_ thread: String, _ options: JobOptions = JobOptions()) throws -> JobID {
        lastNumber += 1
        let request = JobRequest(
            thread: thread, selector: "echo", payload: [7], options: options)
        let job = Job(id: JobID(lastNumber), request: request, acceptedAt: 1_000)
        #expect(try tell(.accept(NewJob(job, isParked: false))) == nil)
        return job.id
    }

    /// Accepts many jobs.
    func accept(_ count: Int, _ thread: String) throws -> [JobID] {
        let request = JobRequest(thread: thread, selector: "echo", payload: [7])
        let jobs = (0..<count).map { place in
            Job(id: JobID(lastNumber + 1 + UInt64(place)), request: request, acceptedAt: 1_000)
        }
        lastNumber += UInt64(count)
        for job in jobs { store.add(.accept(NewJob(job, isParked: false))) }
        #expect(try tell() == nil)
        return jobs.map(\.id)
    }

    /// Has many jobs tried again from a moment on.
    func retry(_ ids: [JobID], dueAt: Int64) throws {
        let attempt = Attempt(number: 1, workerName: "mail", startedAt: 1_000)
        for id in ids { store.add(.retry(id, attempt, dueAt: dueAt)) }
        #expect(try tell() == nil)
    }

    /// Ends many jobs.
    func end(_ ids: [JobID]) throws {
        let attempt = Attempt(number: 1, workerName: "mail", startedAt: 1_000)
        for id in ids { store.add(.end(id, attempt, .done([]), at: 1_001)) }
        #expect(try tell() == nil)
    }

    /// Takes up the jobs of a thread.
    func claim(_ thread: String) throws -> Result<ClaimedJobs, StoreFault> {
        let queues = Priority.allCases.map { QueueName(thread: thread, priority: $0) }
        let result: Result<ClaimedJobs, StoreFault> = try ask({ .claim(queues, ticket: $0) }) {
            answer, expected in
            if case .claimed(expected, let result) = answer { result } else { nil }
        }
        if case .success(let jobs) = result, let taken = jobs.taken, taken.nextNumber > 0 {
            lastNumber = max(lastNumber, taken.nextNumber - 1)
        }
        return result
    }

    /// Moves a thread, as the last look has decided unless the move names another one.
    func move(_ move: ThreadMove) throws -> StoreFault? {
        var move = move
        if move.session == 0 { move.session = session }
        return try change { .move([move], ticket: $0) }
    }

    /// Moves a thread to this seat, and takes up its jobs; looks at its daemon before.
    func take(_ thread: String, from seat: Int64) throws -> TakenJobs {
        if seat > 1 { _ = try nodes() }
        #expect(try move(ThreadMove(thread, from: seat, to: self.seat)) == nil)
        guard let taken = try claim(thread).get().taken else {
            throw Unexpected("it is not shared")
        }
        return taken
    }

    /// The first part of submitted jobs.
    func submitted() throws -> [SubmittedJob] {
        try ask({ .confirm(ticket: $0) }) { answer, _ in
            if case .submitted(let jobs) = answer { jobs } else { nil }
        }
    }

    /// The next jobs of a thread.
    func load(_ thread: String) throws -> [Job] {
        let queue = QueueName(thread: thread, priority: .normal)
        return try ask({ _ in .load(queue, limit: 100, byteCount: 1 << 20) }) { answer, _ in
            if case .loaded(queue, .success(let batch)) = answer { batch.jobs } else { nil }
        }
    }

    /// The delayed jobs of a thread that are due next.
    func loadDelayed(_ thread: String) throws -> [Job] {
        let queue = QueueName(thread: thread, priority: .normal)
        return try ask({ _ in
            .loadDelayed(queue, after: .first, limit: 100, byteCount: 1 << 20)
        }) { answer, _ in
            if case .loadedDelayed(queue, _, .success(let batch)) = answer {
                batch.jobs
            } else {
                nil
            }
        }
    }

    func nodes() throws -> StoreNodes {
        let found = Shared<Result<StoreNodes?, StoreFault>?>(nil)
        store.askForNodes { result in found.set { $0 = result } }
        while found.get() == nil { SystemThread.yield() }
        guard let nodes = try found.get()?.get() else { throw Unexpected("there are no nodes") }
        session = nodes.places?.session ?? 0
        return nodes
    }

    func close() { store.close(nextNumber: 1) }
}
