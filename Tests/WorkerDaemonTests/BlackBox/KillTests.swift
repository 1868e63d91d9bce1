// Kills the daemon at random moments while clients hand in jobs: no number that was given is lost,
// and on each thread, and of each key of a pool, jobs begin in the order of their numbers. KILLS in
// the environment says how often, SEED with which moments. With a database, its sessions are ended
// and its server is killed as well.

import Kernel
import PostgreSQLServer
import RESP
import Support
import Synchronization
import Testing

@Suite struct KillTests {
    private static let killCount = askedNumber("KILLS") ?? 10
    private static let seed = UInt64(askedNumber("SEED") ?? Int.random(in: 1...1_000_000))
    /// Jobs that a client has handed in and not yet a number of.
    private static let outstandingCount = 16
    /// One in so many batches of a pool's client has a job that holds up its key for a second.
    private static let stumbleInterval = 40
    /// One life in so many is let run all of its jobs before it is killed.
    private static let quietInterval = 5
    /// Jobs that may wait before clients are held back, so that a run ends soon after its kills.
    private static let waitingCountMax = 3_000

    /// The knowledge of the clients: numbers and answers.
    private final class Book: Sendable {
        struct Pages {
            /// The numbers that were given, by thread.
            var given: [String: [Int]] = [:]
            /// The numbers of jobs that were handed in under a name.
            var named: [String: Int] = [:]
            /// The numbers of jobs with keys, by key.
            var keyed: [String: Set<Int>] = [:]
            /// How many jobs were handed in that fail at first and hold up their key.
            var stumbleCount = 0
            var refusals: [String] = []
        }

        let pages = Mutex(Pages())
        let goesOn = Flag()
        /// Whether clients are to hand in nothing for a while.
        let isQuiet = Flag(false)

        func note(_ reply: RESPValue, thread: String, key: String? = nil, name: String? = nil) {
            pages.withLock { pages in
                if let id = reply.integer {
                    if let name, let first = pages.named.updateValue(id, forKey: name) {
                        if first != id { pages.refusals.append("\(name) is \(id), was \(first)") }
                        return
                    }
                    pages.given[thread, default: []].append(id)
                    if let key { pages.keyed[key, default: []].insert(id) }
                } else {
                    pages.refusals.append("\(reply)")
                }
            }
        }
    }

    /// A line of the ledger: a beginning.
    private struct Start {
        let thread: String
        let id: Int
        let attempt: Int
    }

    @Test(.timeLimit(.minutes(60)))
    func `a daemon that is killed loses no job and keeps the order of its threads`() throws {
        try run(.durable) { _ in }
    }

    @Test(
        .timeLimit(.minutes(60)),
        .enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
    func `nor does one whose database loses its sessions and its server`() throws {
        // Its own: the others' must not be killed.
        let server = try PostgreSQLServer()
        let address = try server.makeDatabase()
        let setup = Setup(store: "\"\(address)\", stateDirectory: \"$DIR\"")
        try run(setup) { random in
            for _ in 0..<random.below(3) {
                pause(milliseconds: random.below(60))
                if random.chance(40) {
                    try server.control("restart")
                } else if random.chance(30) {
                    try server.control("freeze")
                    pause(milliseconds: random.below(60))
                    try server.control("thaw")
                } else {
                    try PostgreSQLServer.run(
                        """
                        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                        WHERE datname = current_database() AND pid <> pg_backend_pid()
                        """, at: address)
                }
            }
        }
    }

    /// - Parameter hurt: harms the store of a daemon that serves.
    private func run(_ setup: Setup, _ hurt: (inout SeededRandom) throws -> Void) throws {
        let scratch = try Scratch()
        var setup = setup
        setup.threads =
            "a: { maxQueued: \(Self.waitingCountMax) }, "
            + "b: { maxQueued: \(Self.waitingCountMax) }, "
            + "c: { maxQueued: \(Self.waitingCountMax), count: 2 }"
        setup.log = "level: \"warning\""
        let book = Book()
        defer { book.goesOn.clear() }
        let address = SocketAddress.unix(try UnixAddress(scratch.file("s")))
        let clients = try ["a", "b", "c", "a"].enumerated().map { index, thread in
            try TestThread(name: "client \(index)") {
                Self.submit(to: thread, from: index, at: address, book)
            }
        }
        var random = SeededRandom(seed: Self.seed)
        for _ in 0..<Self.killCount {
            let daemon = try start(setup, scratch)
            // Some die before they listen.
            if !random.chance(10) { try? waitUntilServed(address) }
            pause(milliseconds: random.below(60))
            try hurt(&random)
            if random.below(Self.quietInterval) == 0 { try letAllRun(at: address, book) }
            try daemon.send(.kill)
            #expect(try daemon.end().contains("SIGKILL"), "\(daemon.log)")
            #expect(!daemon.log.contains("please report"), "\(daemon.log), seed \(Self.seed)")
        }
        try finish(setup, scratch, address) {
            // However little the clients got done between the kills: each has handed in something.
            try eventually("each client has numbers") {
                let pages = book.pages.withLock { $0 }
                return pages.given.count == 3 && pages.keyed.count == 5
                    && pages.given.values.joined().count > Self.killCount
            }
            book.goesOn.clear()
            clients.forEach { $0.join() }
        }
        check(scratch.read("ledger"), book)
    }

    private func start(_ setup: Setup, _ scratch: Scratch) throws -> TestDaemon {
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        return try TestDaemon(
            arguments: ["--config", scratch.file("workerd.json5")], in: scratch,
            program: "ProgramLedger", environment: ["LEDGER": scratch.file("ledger")])
    }

    private func waitUntilServed(_ address: SocketAddress) throws {
        try eventually("somebody answers") { (try? TestClient(address)) != nil }
    }

    /// Lets clients rest until the daemon has run all jobs in turn: none may wait for an idle
    /// thread.
    private func letAllRun(at address: SocketAddress, _ book: Book) throws {
        book.isQuiet.set()
        defer { book.isQuiet.clear() }
        guard let client = try? TestClient(address) else { return }
        try eventually("no thread is idle while jobs wait for it, seed \(Self.seed)") {
            try client.figure("waiting_jobs") == 0 && client.figure("running_jobs") == 0
                && client.figure("delayed_jobs") == 0
        }
        #expect(try client.figure("stalled_queues") == 0, "seed \(Self.seed)")
        #expect(try client.figure("miscounts") == 0, "seed \(Self.seed)")
    }

    /// Lets the daemon run all that is left.
    ///
    /// - Parameter endClients: while it serves.
    private func finish(
        _ setup: Setup, _ scratch: Scratch, _ address: SocketAddress,
        _ endClients: () throws -> Void
    ) throws {
        let daemon = try start(setup, scratch)
        defer { daemon.kill() }
        try waitUntilServed(address)
        try endClients()
        let client = try TestClient(address)
        try eventually("all have run") {
            // The figures count the jobs of before the start only once these are read.
            try client.figure("waiting_jobs") == 0 && client.figure("running_jobs") == 0
                && client.call("JOBS", "waiting").elements?.isEmpty == true
        }
        try daemon.send(.terminate)
        #expect(try daemon.end() == "exit status 0")
    }

    /// A job that a client hands in.
    private struct Order {
        let selector: String
        var key: String?
        /// Under which it is handed in, maybe again.
        var name: String?
    }

    /// Hands in jobs until all is over, over a new connection whenever one breaks.
    private static func submit(
        to thread: String, from index: Int, at address: SocketAddress, _ book: Book
    ) {
        var random = SeededRandom(seed: seed &+ UInt64(index))
        var nameCount = 0
        var batchCount = 0
        while book.goesOn.isSet {
            guard !book.isQuiet.isSet, let client = try? TestClient(address) else {
                pause(milliseconds: 1)
                continue
            }
            do {
                while book.goesOn.isSet, !book.isQuiet.isSet {
                    let orders: [Order]
                    if thread == "c" {
                        let stumbles = batchCount % stumbleInterval == 0
                        if stumbles { book.pages.withLock { $0.stumbleCount += 1 } }
                        orders = keyedBatch(stumbles: stumbles)
                    } else {
                        orders = namedBatch(of: index, &nameCount, &random)
                    }
                    batchCount += 1
                    try client.send(orders.flatMap { bytes(of: $0, to: thread) })
                    for order in orders {
                        let reply = try client.reply()
                        book.note(reply, thread: thread, key: order.key, name: order.name)
                        if reply.errorWord == "BUSY" { pause(milliseconds: 1) }
                    }
                }
            } catch {
                // The daemon was killed: what was not answered may have been accepted or not.
                continue
            }
        }
    }

    /// Jobs with keys; the first of them may be one that fails at first and holds up its key.
    private static func keyedBatch(stumbles: Bool) -> [Order] {
        (0..<outstandingCount).map { index in
            Order(selector: stumbles && index == 0 ? "stumble" : "note", key: "k\(index % 5)")
        }
    }

    /// New jobs, and jobs of before that are handed in again under their names.
    private static func namedBatch(
        of client: Int, _ nameCount: inout Int, _ random: inout SeededRandom
    ) -> [Order] {
        // Small writes meet a restart's first loads, large ones fill the queue.
        let count = random.chance(60) ? 1 + random.below(3) : outstandingCount
        return (0..<count).map { _ in
            switch random.below(4) {
            case 0:
                nameCount += 1
                return Order(selector: "note", name: "n\(client)-\(nameCount)")
            case 1 where nameCount > 0:
                let number = max(1, nameCount - random.below(20))
                return Order(selector: "note", name: "n\(client)-\(number)")
            default: return Order(selector: "note")
            }
        }
    }

    private static func bytes(of order: Order, to thread: String) -> [UInt8] {
        var words: [CommandArgument] = ["PERFORM", .text(thread), .text(order.selector)]
        if let key = order.key { words += ["KEY", .text(key)] }
        if let name = order.name { words += ["UNIQUE", .text(name)] }
        if order.selector == "stumble" { words += ["RETRY", 5, "BLOCK"] }
        return TestClient.bytes(words + ["a payload"])
    }

    private func check(_ ledger: String, _ book: Book) {
        let starts = ledger.split(separator: "\n").compactMap { line -> Start? in
            let words = line.split(separator: " ")
            guard words.count == 3, let id = Int(words[1]), let attempt = Int(words[2]) else {
                Issue.record("a line of the ledger: \(line)")
                return nil
            }
            return Start(thread: String(words[0]), id: id, attempt: attempt)
        }
        var countByID: [Int: Int] = [:]
        var unmarkedCount = 0
        var firsts: [String: [Int]] = [:]
        for start in starts {
            countByID[start.id, default: 0] += 1
            if countByID[start.id] == 1 {
                firsts[start.thread, default: []].append(start.id)
            } else if start.attempt == 1 {
                unmarkedCount += 1
            }
        }
        let pages = book.pages.withLock { $0 }
        let given = pages.given.values.flatMap { $0 }
        #expect(Set(given).count == given.count, "a number is given once, seed \(Self.seed)")
        let lost = given.filter { countByID[$0] == nil }
        #expect(lost.isEmpty, "never ran: \(lost.prefix(20)), seed \(Self.seed)")
        for thread in ["a", "b"] {
            let order = firsts[thread] ?? []
            #expect(order == order.sorted(), "first starts of \(thread), seed \(Self.seed)")
        }
        for (key, ids) in pages.keyed {
            // All of them: what is tried again comes before what follows.
            let order = starts.map(\.id).filter { ids.contains($0) }
            #expect(order == order.sorted(), "starts of \(key), seed \(Self.seed)")
        }
        #expect(pages.keyed.count == 5)
        let refused = pages.refusals.filter { !$0.contains("BUSY") }
        #expect(refused.isEmpty, "\(refused.prefix(5))")
        let againCount = countByID.values.count { $0 > 1 }
        let mostOften = countByID.values.max() ?? 0
        print(
            "\(Self.killCount) kills, seed \(Self.seed): \(given.count) numbers given, "
                + "\(countByID.count) jobs ran, \(lost.count) lost, \(againCount) ran again "
                + "(at most \(mostOften) times; \(unmarkedCount) starts without their attempt's "
                + "number)"
        )
        #expect(unmarkedCount == 0, "a second run is told that it is one, seed \(Self.seed)")
        // Four threads: what had ended at a kill has a small result, which is noted at once.
        let mostAgain = 4 * Self.killCount + pages.stumbleCount
        #expect(starts.count - countByID.count <= mostAgain, "seed \(Self.seed)")
        #expect(given.count > Self.killCount)
    }
}

/// Lets time pass, where the moment is what is tested.
private func pause(milliseconds: Int) {
    let deadline = SystemClock().now().advanced(by: .milliseconds(milliseconds))
    try? eventually("a pause") { SystemClock().now() >= deadline }
}
