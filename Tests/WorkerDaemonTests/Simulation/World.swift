// The daemon of a simulation and its one client, on the calling thread; crashes and restarts.

import Jobs
import Kernel
import RESP
import RunLoops
import RunLoopsTesting
import StoreTwin
import Support
import WorkerDaemon
import WorkerThreads

/// A daemon that lives, dies and lives again on the same files.
///
/// Confined to the thread that made it.
final class World {
    let clock = SimulatedClock()
    let stage = Stage()
    private let loop: ThreadRunLoop
    private let directory: String
    private let window: WindowLimits
    private let key: String?
    private var generation = 0
    /// The contents of the daemon's store, if that is the twin of the one in a file; else nil.
    private var book: TwinBook?
    private var twin: TwinStore?
    private(set) var daemon: SteppedDaemon
    private var client: Client

    /// The client's end of a connection, and the requests that await a reply on it.
    private final class Client {
        let socket: Descriptor
        var parser = ReplyParser()
        var expected: [(RESPValue) throws -> Void] = []
        var answered = 0

        init(_ socket: consuming Descriptor) { self.socket = socket }
    }

    /// The threads of every daemon: one alone, and a pool of two.
    static let threads = ["one": 1, "two": 2]
    static let grace: Int64 = 25_000

    /// - Parameters:
    ///   - directory: where the files of each generation are kept; empty.
    ///   - window: how many of the jobs that wait are in the daemon's memory.
    ///   - hasTwin: whether jobs are kept by the twin of the store in a file.
    ///   - key: the key of HTTP, which has a door then.
    init(
        _ directory: String, _ window: WindowLimits, hasTwin: Bool = false, key: String? = nil
    ) throws {
        self.directory = directory
        self.key = key
        self.window = window
        book = hasTwin ? TwinBook() : nil
        loop = ThreadRunLoop.makeCurrent(poller: SystemPoller(clock: clock))
        (daemon, twin) = try Self.start(clock, stage, directory, window, book, key, generation: 0)
        client = Client(try daemon.connect())
    }

    private static func path(_ directory: String, _ generation: Int) -> String {
        "\(directory)/jobs-\(generation % 2).sqlite"
    }

    private static func configured(
        _ threads: [String: Int], maxQueued: Int? = nil
    ) -> [Configuration.Thread] {
        threads.sorted { $0.key < $1.key }.map { name, count in
            var thread = Configuration.Thread(name: name)
            thread.count = count
            if let maxQueued { thread.maxQueued = maxQueued }
            // Jobs end when a simulation says so, which need not be soon.
            thread.stuckAfter = .seconds(24 * 3_600)
            return thread
        }
    }

    /// Lets the daemon have other threads, as after a reload, until it is started again.
    ///
    /// No job of a thread that goes or changes may run.
    ///
    /// - Parameter wait: lets a little time pass: jobs from before a crash are counted first.
    func reload(
        _ threads: [String: Int], maxQueued: Int? = nil, wait: () throws -> Void
    ) throws {
        var isApplied = false
        var fault: String?
        daemon.reload(Self.configured(threads, maxQueued: maxQueued)) {
            isApplied = true
            fault = $0
        }
        for _ in 0..<200 where !isApplied {
            try settle()
            if !isApplied { try wait() }
        }
        guard isApplied else { throw SimulationFault("the reload does not end") }
        if let fault { throw SimulationFault("the reload was answered \(fault)") }
    }

    private static func start(
        _ clock: SimulatedClock, _ stage: Stage, _ directory: String, _ window: WindowLimits,
        _ book: TwinBook?, _ key: String?, generation: Int
    ) throws -> (SteppedDaemon, TwinStore?) {
        var configuration = Configuration()
        configuration.threads = configured(threads)
        configuration.store = .file(path(directory, generation))
        configuration.log.level = .error
        // Its connections are made without a door.
        if key != nil {
            configuration.listen.http.tcp = Configuration.Address("127.0.0.1:7712")
        } else {
            configuration.listen.http.unix = "none"
        }
        let key = key.map { Array($0.utf8) }
        let daemon = Daemon(configuration: configuration)
        daemon.register("play") { job in
            try stage.play(job, on: WorkerThread.currentName ?? "none")
        }
        daemon.register("stubborn", retries: .aside(1)) { job in
            try stage.play(job, on: WorkerThread.currentName ?? "none")
        }
        let clocks = Clocks(loop: clock, wall: clock.wall)
        guard let book else {
            return (try SteppedDaemon(daemon, clocks, window: window, key: key), nil)
        }
        var twin: TwinStore?
        let stepped = try SteppedDaemon(daemon, clocks, window: window, key: key) { selectors in
            let (store, recovery) = TwinStore.open(book, serving: selectors, wall: clock.wall)
            twin = store
            return (store, recovery)
        }
        return (stepped, twin)
    }

    /// Sets the clock on the wall, of which the kernel tells the daemon.
    func setClock(byMilliseconds count: Int64) throws {
        clock.setWall(byMilliseconds: count)
        daemon.clockWasSet()
        try settle()
    }

    /// How many jobs failed ones have made the daemon look at.
    var lookedAtCount: Int { daemon.lookedAtCount }

    /// Says whether the daemon's own figures show a fault.
    func checkFigures() throws {
        if daemon.miscountCount > 0 {
            throw SimulationFault("\(daemon.miscountCount) counts were repaired")
        }
        if daemon.stalledQueueCount > 0 {
            throw SimulationFault("\(daemon.stalledQueueCount) queues have stalled")
        }
    }

    // MARK: - Talking

    /// Sends a command.
    ///
    /// - Parameter body: called with its reply when that has come; never after a crash.
    func ask(_ arguments: [CommandArgument], _ body: @escaping (RESPValue) throws -> Void) throws {
        var bytes: [UInt8] = []
        CommandWriter.write(arguments, to: &bytes)
        client.expected.append(body)
        var sent = 0
        while sent < bytes.count {
            switch try client.socket.send(contentsOf: bytes, from: sent) {
            case .wrote(let count): sent += count
            case .wouldBlock: _ = try servePass()
            }
        }
    }

    /// Serves the daemon until it is idle: every request is answered.
    func settle() throws {
        repeat {
            try restThreads()
        } while try servePass()
    }

    /// Keeps the store from taking commands: what is asked collects before it.
    func holdStore() throws {
        // Else it may or may not take a command that it was just told of.
        try restThreads()
        if let twin { twin.hold() } else { daemon.holdStore() }
        try restThreads()
    }

    /// Lets the store take commands again.
    func releaseStore() {
        if let twin { twin.goOn() } else { daemon.releaseStore() }
    }

    /// Lets a held store do all that it was told so far; its answers wait for the loop's next pass.
    func letStoreCatchUp() throws {
        releaseStore()
        try restThreads()
        try holdStore()
    }

    /// Makes one pass of the daemon's loop while the store is held.
    func servePassWithoutStore() throws {
        try restThreads()
        _ = try servePass()
    }

    /// Makes one pass of the daemon's loop.
    ///
    /// - Returns: whether there was anything to do.
    func servePass() throws -> Bool {
        let pass = loop.stepOnePass()
        return try receive() || !pass.wasIdle
    }

    private func restThreads() throws {
        for worker in daemon.workers {
            try rest(worker) {
                stage.isPlaying(on: worker.name) || daemon.awaitsDriver(worker)
            }
        }
        if let journal = daemon.journalThread { try rest(journal) { false } }
    }

    private func rest(_ thread: WorkerThread, orElse isHeld: () -> Bool) throws {
        let deadline = SystemClock().now().advanced(by: .seconds(60))
        while !thread.runLoop.isWaiting, !thread.hasEnded, !isHeld() {
            guard SystemClock().now() < deadline else {
                throw SimulationFault("thread \(thread.name) never comes to rest")
            }
            SystemThread.yield()
        }
    }

    private func receive() throws -> Bool {
        var count = 0
        try client.parser.withUninitializedTail(atLeast: 4_096) {
            (room: inout OutputSpan<UInt8>) throws(SystemError) in
            if case .bytes(let read) = try client.socket.read(into: &room) { count = read }
        }
        guard count > 0 else { return false }
        while let reply = try client.parser.next() {
            let body = client.expected[client.answered]
            client.answered += 1
            if client.answered == client.expected.count {
                client.expected.removeAll(keepingCapacity: true)
                client.answered = 0
            }
            try body(reply)
        }
        return true
    }

    /// Lets the store refuse the next request, if it is the twin; what has happened is told it
    /// again.
    ///
    /// - Returns: whether it is.
    func refuse(_ arguments: [CommandArgument], _ body: @escaping (RESPValue) throws -> Void) throws
        -> Bool
    {
        guard let twin else { return false }
        twin.fail(with: StoreFault(.full, path: twin.name, detail: "as wished"))
        try ask(arguments, body)
        try settle()
        twin.fire()
        return true
    }

    /// Lets the store refuse the next requests, if it is the twin.
    func refuseNext(_ count: Int) {
        guard let twin else { return }
        for _ in 0..<count {
            twin.fail(with: StoreFault(.full, path: twin.name, detail: "as wished"))
        }
    }

    // MARK: - Dying

    /// Lets the daemon die, with all that was not with the kernel, and starts another.
    ///
    /// - Parameter observe: called before, when whatever has begun is known on the stage.
    func crash(_ observe: () throws -> Void) throws {
        // Whatever the journal has begun is with the kernel; what the scheduler has not told it is
        // lost.
        try restThreads()
        try observe()
        if let twin {
            book = twin.book
            client = Client(try SocketPair().split { _ in })
            stage.close()
            daemon.abandon()
            return try startAgain()
        }
        let (old, new) = (path, Self.path(directory, generation + 1))
        for suffix in ["", "-wal", "-attempts"] {
            let bytes = try File.read(old + suffix, atMost: .max)
            try File.write(bytes, to: new + suffix, mode: File.ownerOnly)
        }
        client = Client(try SocketPair().split { _ in })
        stage.close()
        daemon.abandon()
        for suffix in ["", "-wal", "-attempts"] { try? File.remove(old + suffix) }
        generation += 1
        try startAgain()
    }

    /// Lets the daemon go down as after SIGTERM.
    ///
    /// - Parameter wait: called while it waits for running jobs; returns false when it has no more
    ///   ends to give, and the grace period is over.
    func shutDown(whileItWaits wait: () throws -> Bool) throws {
        let isDown = Latch()
        daemon.shutDown { isDown.open() }
        while !isDown.isOpen {
            try settle()
            guard !isDown.isOpen else { break }
            if try !wait() { clock.advance(byMilliseconds: Self.grace) }
        }
        daemon.end()
        book = twin?.book
        try startAgain()
    }

    private var path: String { Self.path(directory, generation) }

    private func startAgain() throws {
        clock.forgetLoops()
        stage.open()
        (daemon, twin) = try Self.start(
            clock, stage, directory, window, book, key, generation: generation)
        client = Client(try daemon.connect())
    }

    /// Ends the daemon for good.
    func close() {
        stage.close()
        daemon.abandon()
    }
}
