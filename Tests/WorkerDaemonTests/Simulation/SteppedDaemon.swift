// A daemon without doors, signals or a thread `main`: its owner serves its loop pass by pass, on a
// clock that is moved by hand, and may drop it as a crash does. All else is the daemon that users
// run.

import Jobs
import Kernel
import Support
import TLS
import WorkerThreads

@testable import WorkerDaemon

/// A daemon whose thread `io` is the caller's.
///
/// For simulations: the driver, the journal, the groups and the wire are the real ones, their
/// threads too.
///
/// - Thread: the one that made it, whose run loop goes by the same clock.
final class SteppedDaemon {
    private let store: any JobStore
    /// The thread that writes jobs down; nil if the store has none of its own.
    let journalThread: WorkerThread?
    private let service: Service

    /// Starts the threads of a daemon and takes up what its store holds.
    ///
    /// - Parameters:
    ///   - daemon: its configuration, of which `listen` is left aside, and its handlers.
    ///   - clocks: the time by which it goes.
    ///   - window: how many of the jobs that wait in its store are in memory at a time.
    ///   - key: the key of requests of HTTP.
    ///   - other: opens a store in place of the configured one; given the selectors that are
    ///     served.
    /// - Throws: as starting the daemon does.
    /// - Blocks: for the disk.
    init(
        _ daemon: Daemon, _ clocks: Clocks, window: WindowLimits = WindowLimits(),
        key: [UInt8]? = nil,
        store other: ((Set<String>) -> (any JobStore, StoreRecovery))? = nil
    ) throws {
        let configuration = daemon.configuration
        let log = Log(level: configuration.log.level)
        let groups = try configuration.threads.map { try WorkerGroup($0, clocks) }
        var recovery = StoreRecovery()
        if let other {
            (store, recovery) = other(Set(daemon.handlers.keys))
            journalThread = nil
        } else {
            let opened = try OpenedStore.open(
                configuration.storePlace(in: [:]) ?? .memory, configuration.limits,
                serving: Set(daemon.handlers.keys), window: window, clocks: clocks, log: log,
                whenLost: { _ in })
            store = opened?.store ?? NoStore()
            journalThread = opened?.thread
            if let opened { recovery = opened.recovery }
        }
        service = try Service.assemble(
            configuration, daemon.handlers, groups, store, nextNumber: recovery.nextNumber,
            window: window, children: ChildRegistry(of: "stepped", configuration.limits),
            users: UserBook(key: key), clocks: clocks,
            log: log, shutdownAsked: { _ in })
        service.driver.restore(recovery)
        service.isStarted = true
    }

    /// The groups with threads: those of the configuration, and replaced ones that still run.
    private var groups: [WorkerGroup] { service.driver.allGroups }
    /// The worker threads of all these groups.
    var workers: [WorkerThread] { groups.flatMap { $0.members.map(\.thread) } }

    /// How many queues have jobs to load that nothing loads; 0 unless the daemon has a fault.
    var stalledQueueCount: Int { service.driver.scheduler.stalledQueueCount }

    /// How often a count had to be repaired; 0 unless the daemon has a fault.
    var miscountCount: Int { service.driver.scheduler.queues.miscounts.count }

    /// How many jobs failed ones have made the driver look at, for whether they have to wait behind
    /// them.
    var lookedAtCount: Int { service.driver.scheduler.orders.lookedAtCount }

    /// Whether a worker has reported a failed attempt, and takes nothing before the caller's thread
    /// has heard it.
    func awaitsDriver(_ worker: WorkerThread) -> Bool {
        service.driver.runner?.isWaiting(worker.name) == true
    }

    /// How often the live view was looked at.
    var liveLookCount: Int { service.live.lookCount }

    /// Whether the daemon's loop has something to do within a second, as a look that is due.
    var isLiveTimerSet: Bool {
        let loop = service.loop
        return loop.nextTimerFireDate().map { loop.now.duration(to: $0) <= .seconds(1) } ?? false
    }

    /// Keeps the store's thread from taking commands; `releaseStore` lets it go on.
    ///
    /// Commands for the store collect meanwhile. A simulation interleaves the loop's passes with
    /// the store's transactions this way.
    func holdStore() { journalThread?.pause() }

    /// Lets the store's thread take commands again.
    func releaseStore() { journalThread?.resume() }

    /// Makes a connection.
    ///
    /// - Returns: the client's end, which does not block.
    func connect() throws(SystemError) -> Descriptor {
        try SocketPair().split {
            service.admit($0, PeerInfo(at: "a pair"), .owner)
        }
    }

    /// Makes a connection that speaks HTTP, of a client that has to give the key if there is one.
    ///
    /// - Returns: the client's end, which does not block.
    func connectHTTP() throws(SystemError) -> Descriptor {
        try SocketPair().split {
            service.admit(
                $0, PeerInfo(at: "a pair"), service.users.key == nil ? .owner : nil,
                dialect: .requests)
        }
    }

    /// Makes a connection with TLS, of a client that has to authenticate.
    ///
    /// - Returns: the client's end, which does not block.
    func connectTLS(
        _ context: TLSContext, isHTTP: Bool = false
    ) throws(SystemError) -> Descriptor {
        try SocketPair().split {
            service.admit(
                $0, PeerInfo(at: "a pair"), service.users.hasKeys ? nil : .owner,
                dialect: isHTTP ? .requests : .commands, tls: context)
        }
    }

    /// How many connections there are.
    var sessionCount: Int { service.sessions.count }

    /// Asks the daemon's loops from now on, as it does for a service manager that watches it.
    ///
    /// - Parameter tell: called each time that all of them have answered.
    func startHeartbeat(every pause: Duration, tell: @escaping () -> Void) {
        Heartbeat(service.driver, service.health, tell: tell).start(every: pause)
    }

    /// Has health checks ask a main thread that never answers.
    func hangMain() { service.health.askMain = { _ in } }

    /// Tells the daemon what the kernel tells it when the wall clock was set.
    func clockWasSet() { service.driver.input { $0.clockWasSet() } }

    /// Has other threads from now on, as after a reload.
    ///
    /// - Parameter whenApplied: called on this thread when all is applied, with the reason if it is
    ///   not.
    func reload(
        _ threads: [Configuration.Thread], whenApplied: @escaping (String?) -> Void
    ) {
        var configuration = service.configuration
        configuration.threads = threads
        // Its connections are made without a door.
        configuration.listen = Configuration.Listen()
        let read = ReadConfiguration(
            configuration: configuration, handlers: service.driver.handlers, users: service.users,
            certificates: service.certificates)
        let difference = ConfigurationDifference(from: service.configuration, to: configuration)
        service.apply(difference, read) { whenApplied($0?.message) }
    }

    /// Begins to go down as after SIGTERM; the caller goes on serving the loop.
    ///
    /// - Parameter whenDown: called on this thread once all is said and sent.
    func shutDown(whenDown: @escaping @Sendable () -> Void) {
        service.shutDown(.finishRunning) { _ in whenDown() }
    }

    /// Ends the threads of a daemon that is down, in order.
    ///
    /// - Blocks: until they have ended.
    func end() {
        releaseStore()
        // None of them may wait for the caller: it waits for them.
        service.driver.runner?.close()
        for group in groups { group.pool.join() }
        service.close()
        store.close(nextNumber: service.driver.scheduler.book.nextNumber)
    }

    /// Drops everything that was not yet written, and ends the threads.
    ///
    /// The threads may still write on the way, as a process after the crash would not: copy the
    /// store's files before, and go on with the copy. Handlers have to return.
    ///
    /// - Blocks: until the threads have ended.
    func abandon() {
        service.dropSessions()
        for group in groups {
            group.pool.resume()
            group.pool.stop(.finishCurrent)
        }
        end()
    }
}
