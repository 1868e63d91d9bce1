// The stores that must behave alike, with a test's operations on each: open, crash, and end in
// order.

import Jobs
import Kernel
import PostgreSQLJobs
import PostgreSQLServer
import SQLiteJobs
import StoreTwin
import Support
import Synchronization

/// A wall clock that the test moves.
final class TestWall: LoopClock {
    private let milliseconds = Mutex<Int64>(1_000_000)

    func now() -> Instant { Instant(nanoseconds: milliseconds.withLock { $0 } * 1_000_000) }
    var runsByItself: Bool { false }
    func whenMoved(_ wake: @escaping @Sendable () -> Void) {}
    func move(byMilliseconds count: Int64) { milliseconds.withLock { $0 += count } }

    var time: WallTime { WallTime(on: self, from: 0) }
}

/// A store that a test can open again and again.
protocol Reopened: AnyObject {
    func open(serving selectors: Set<String>) throws -> (any JobStore, StoreRecovery)
    /// Leaves the files as a crash of the process would.
    func crash(_ store: any JobStore) throws
}

/// The twin.
final class ReopenedTwin: Reopened {
    private var book: TwinBook
    private let wall: WallTime
    /// Whether it forgets at an opening when attempts have begun that are over, as a database does.
    private let forgetsBeginnings: Bool

    init(_ limits: StoreLimits, _ wall: WallTime, forgetsBeginnings: Bool = false) {
        self.forgetsBeginnings = forgetsBeginnings
        book = TwinBook(limits: limits)
        self.wall = wall
    }

    func open(serving selectors: Set<String>) throws -> (any JobStore, StoreRecovery) {
        let (store, recovery) = TwinStore.open(
            book, serving: selectors, wall: wall, forgetsBeginnings: forgetsBeginnings)
        return (store, recovery)
    }

    func crash(_ store: any JobStore) throws {
        if let twin = store as? TwinStore { book = twin.book }
    }
}

/// The store in a file.
final class ReopenedFile: Reopened {
    private let directory: TestDirectory
    private let limits: StoreLimits
    private let wall: WallTime
    private var generation = 0
    private var path: String { "\(directory.path)/jobs-\(generation).sqlite" }

    init(_ limits: StoreLimits, _ wall: WallTime) throws {
        directory = try TestDirectory()
        self.limits = limits
        self.wall = wall
    }

    func open(serving selectors: Set<String>) throws -> (any JobStore, StoreRecovery) {
        let (journal, recovery) = try SQLiteJournal.open(
            path, limits: limits, serving: selectors, window: WindowLimits(countMax: 8),
            clocks: Clocks(loop: SystemClock(), wall: wall), log: StoreLog { _, _ in })
        return (journal, recovery)
    }

    func crash(_ store: any JobStore) throws {
        let old = path
        generation += 1
        for suffix in ["", "-wal", "-attempts"] where try File.kind(of: old + suffix) != nil {
            try File.write(
                try File.read(old + suffix, atMost: .max), to: path + suffix, mode: File.ownerOnly)
        }
        // Its further writes go to files that are never opened again.
        store.close(nextNumber: 1)
    }
}

/// The store in a database.
final class ReopenedDatabase: Reopened {
    private let directory: TestDirectory
    private let limits: StoreLimits
    private let wall: WallTime
    let address: String
    private var generation = 0
    private var path: String { "\(directory.path)/attempts-\(generation)" }

    init(_ limits: StoreLimits, _ wall: WallTime) throws {
        directory = try TestDirectory()
        address = try PostgreSQLServer.shared.get().makeDatabase()
        self.limits = limits
        self.wall = wall
    }

    func open(serving selectors: Set<String>) throws -> (any JobStore, StoreRecovery) {
        guard let server = ServerAddress(address) else { throw Unexpected("address \(address)") }
        let (journal, recovery) = try PostgreSQLJournal.open(
            server, attemptsPath: path, limits: limits, serving: selectors,
            window: WindowLimits(countMax: 8),
            clocks: Clocks(loop: SystemClock(), wall: wall), log: StoreLog { _, _ in },
            whenLost: { _ in })
        return (journal, recovery)
    }

    func crash(_ store: any JobStore) throws {
        let old = path
        generation += 1
        if try File.kind(of: old) != nil {
            try File.write(try File.read(old, atMost: .max), to: path, mode: File.ownerOnly)
        }
        // The store writes nothing from here on: its epoch is over, as after a takeover.
        try PostgreSQLServer.run(
            """
            UPDATE workerd.seats SET epoch = epoch + 1;
            SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
            """, at: address)
        store.close(nextNumber: 1)
    }
}

extension StoreCommand {
    /// Whether it is a question of a client, and changes nothing.
    var isQuestion: Bool {
        switch self {
        case .find, .findPayload, .findNamed, .findExpired, .list: true
        default: false
        }
    }
}

extension StoreAnswer {
    /// Whether it answers a question.
    var isToQuestion: Bool {
        switch self {
        case .found, .payload, .named, .expiring, .listed: true
        default: false
        }
    }
}

/// The answers of a store, in words that are the same for the same answers.
enum Reply {
    static func text(_ job: Job) -> String {
        "\(brief(job)) \(job.payload) \(job.outcome.map { "\($0)" } ?? "-")"
    }

    /// A job without its payload and its result, which listings leave out.
    private static func brief(_ job: Job) -> String {
        "\(job.id) \(job.thread) \(job.selector) \(job.priority) \(job.state) "
            + "attempt \(job.attempt)-\(job.forgivenCount) of \(job.retryCountMax) "
            + "at \(job.acceptedAt) "
            + "due \(opt(job.dueAt)) from \(opt(job.startedAt)) to \(opt(job.endedAt)) "
            + "by \(job.workerName ?? "-") "
            + "\(job.key ?? []) \(job.retryBlocks) \(opt(job.timeoutMilliseconds)) "
            + "expires \(opt(job.expiresAt)) \(job.details.options.carried ?? [])"
    }

    private static func opt(_ value: Int64?) -> String { value.map { "\($0)" } ?? "-" }

    private static func text(_ batch: JobBatch) -> String {
        batch.jobs.map(text).joined(separator: "; ") + (batch.isEnd ? " end" : "")
    }

    private static func text(_ jobs: [QueueName: [CountedJob]]) -> String {
        jobs.flatMap { queue, jobs in
            jobs.map { "\(queue.thread)/\(queue.priority) \($0.id) \($0.state) \($0.byteCount)" }
        }.sorted().joined(separator: "; ")
    }

    private static func text<Value>(
        _ result: Result<Value, StoreFault>, _ body: (Value) -> String
    ) -> String {
        switch result {
        case .success(let value): body(value)
        case .failure: "fault"
        }
    }

    /// - Returns: nil for an unasked message.
    static func text(_ answer: StoreAnswer) -> String? {
        switch answer {
        case .counted, .submitted: nil
        // Neighbours may come together or apart.
        case .accepted(let count, let fault):
            Array(repeating: fault == nil ? "accepted" : "refused", count: count)
                .joined(separator: "\n")
        case .existing(let named): "existing \(named)"
        case .expiring(let ticket, let result):
            "\(ticket) expiring "
                + text(result) { found in
                    // Of the next one, a store may say an earlier moment.
                    found.places.map { "\($0.dueAt) \($0.id)" }.joined(separator: "; ")
                        + " \(found.isEnd)"
                }
        case .confirmed(let ticket, let fault): "\(ticket) confirmed \(fault == nil)"
        case .settled(let ticket, let result):
            "\(ticket) resolved "
                + text(result) { answer in
                    answer.jobs.map(text).joined(separator: "; ") + " dropped \(answer.dropped) "
                        + "other \(answer.other.map(text) ?? "-") last \(answer.last?.number ?? 0)"
                }
        case .loaded(let queue, let result): "\(queue.thread) loaded " + text(result, text)
        case .loadedDelayed(let queue, let key, let result):
            "\(queue.thread) delayed after \(key) " + text(result, text)
        case .fired(let ticket, _, let result):
            "\(ticket) fired "
                + text(result) { release in
                    let counted = release.counted.map { queue, amounts in
                        let amounts = amounts.map { "\($0) \($1)" }.sorted()
                        return "\(queue.thread) \(queue.priority) \(amounts)"
                    }
                    let rest = release.rest?.queues.count ?? 0
                    return "\(release.count) \(counted.sorted()) rest \(rest)"
                }
        case .found(let ticket, let result):
            "\(ticket) found " + text(result) { $0.map(text) ?? "-" }
        case .payload(let ticket, let result):
            "\(ticket) payload "
                + text(result) { found in
                    found.map { "\(text($0.job)) \($0.bytes.map { "\($0)" } ?? "-")" } ?? "-"
                }
        case .named(let ticket, let result):
            "\(ticket) named " + text(result) { $0.map { "\($0)" } ?? "-" }
        case .listed(let ticket, let result):
            "\(ticket) listed " + text(result) { $0.jobs.map(brief).joined(separator: "; ") }
        case .cancelled(let ticket, let result): "\(ticket) cancelled " + text(result, text)
        case .claimed(let ticket, let result):
            "\(ticket) claimed " + text(result) { $0.blockers.map(text).joined(separator: "; ") }
        case .numbers(let first): "numbers from \(first)"
        case .cancelledPart(let ticket, let result):
            "\(ticket) cancelled "
                + text(result) { text($0.jobs) + ($0.rest == nil ? " end" : "") }
        }
    }

    /// Whether two stores have answered the same.
    ///
    /// The first knows exactly whether there is more; a store that is not sure may say that there
    /// is.
    static func agree(_ exact: [String], _ other: [String]) -> Bool {
        exact.count == other.count
            && zip(exact, other).allSatisfy { exact, other in
                exact == other || exact == other + " end"
            }
    }

    /// The recovery of a store, with all later counts.
    static func text(_ recovery: StoreRecovery, _ parts: [RecoveryCount.Part]) -> String {
        var counts: [String: Int] = [:]
        for part in [recovery.part] + parts {
            for (queue, amounts) in part.amounts {
                for (state, amount) in amounts {
                    counts["\(queue.thread) \(queue.priority) \(state)", default: 0] += amount.count
                }
            }
            for (queue, amounts) in part.unserved {
                for (selector, amounts) in amounts {
                    for (state, amount) in amounts {
                        let name = "\(queue.thread) \(queue.priority) \(state) of \(selector)"
                        counts[name, default: 0] += amount.count
                    }
                }
            }
        }
        let queues = recovery.queues.map { "\($0.thread) \($0.priority)" }.sorted()
        let counted = counts.filter { $0.value > 0 }.map { "\($0): \($1)" }.sorted()
        return """
            next \(recovery.nextNumber), reserved \(recovery.reservedBelow), \
            ended \(recovery.endedCount)
            queues \(queues)
            counted \(counted)
            blockers \(recovery.blockers.map(text))
            schedules \(recovery.schedules)
            paused \(recovery.pausedThreads.sorted())
            """
    }
}
