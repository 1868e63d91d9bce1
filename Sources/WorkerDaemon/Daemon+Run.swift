// The daemon's life on the main thread: threads are started, doors opened, then signals and the end
// are waited for. The main thread runs nothing else, so that a signal always gets through.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Wording
internal import WorkerThreads

extension Daemon {
    /// Runs the daemon until it is told to go down, by a signal or a client.
    ///
    /// The program itself ends it in the same way: with SIGTERM to its own process, or the
    /// `shutdown()` of a client. A handler must not wait for that, as it would wait for its own
    /// end.
    ///
    /// - Returns: the status with which the process should exit: 0 after an orderly end.
    /// - Thread: the main thread, before any other is started: the signals SIGTERM, SIGINT, SIGHUP
    ///   and SIGUSR1 are blocked in all threads that are started from here on and read by this one,
    ///   and stay blocked when it has returned. To a thread that was there before and lets them in,
    ///   they come as ever, and end the process; the log names it.
    /// - Blocks: until the daemon is down.
    public func run() -> Int32 {
        let log = Log(level: configuration.log.level)
        do throws(DaemonError) {
            try checkSchedules()
            return try RunningDaemon(configuration, handlers, configurationFile, log).run()
        } catch {
            log.error(error.description)
            return error.exitStatus
        }
    }
}

/// A daemon that has been started.
///
/// Confined to the main thread.
private final class RunningDaemon {
    /// A message to the main thread.
    private enum Event: Sendable {
        case shutdownAsked(ShutdownMode)
        case isDown(hasStuckThreads: Bool)
    }

    private static let endSignals: Set<Signal> = [.terminate, .interrupt]
    private static let signals: Set<Signal> =
        Set([.terminate, .interrupt, .hangUp, .user1])
        .union(AdoptedProcesses.areExpected ? [.childEnded] : [])
    /// How long an ended process that only the daemon can collect may wait for others.
    private static let adoptedPatience = Duration.seconds(1)
    /// As a shell reports a process that a signal ended.
    private static let endedBySignal: Int32 = 128

    /// The configuration of the start.
    private let configuration: Configuration
    /// The file that it was read from; nil if it was made by code.
    private let configurationFile: String?
    /// Its present form, after reloads.
    private let present: PresentConfiguration
    private let log: Log
    private let loop: ThreadRunLoop
    private let manager: ServiceManager
    private let children: ChildRegistry
    /// The clock of a database that several daemons share; without one, this machine's.
    private let clock = SharedClock()
    private let groups: [WorkerGroup]
    private let io: WorkerThread
    private var journal: any JobStore = NoStore()
    /// The secret of the links to this node.
    private let linkSecret: String
    /// The doors while another daemon has the store.
    private let standby: StandbyDoors
    private var service: Confined<Service>?
    private var events: MessagePort<Event>?
    private var signalDescriptor: SignalDescriptor?
    private var signalPort: ThreadRunLoop.Port?
    private var shutdownSignalCount = 0
    private var adoptedTimer: ThreadRunLoop.Timer?
    /// Whether threads still run something, once all else is down.
    private var hasStuckThreads: Bool?

    init(
        _ configuration: Configuration, _ handlers: [String: Handler], _ file: String?, _ log: Log
    ) throws(DaemonError) {
        self.configuration = configuration
        configurationFile = file
        present = PresentConfiguration(configuration)
        self.log = log
        manager = ServiceManager(
            Program.inheritedEnvironment(), processID: ProcessStatistics.processID, log: log)
        // Only a daemon that starts programs moves into a group of its own.
        let controlGroups =
            configuration.selectors.isEmpty
            ? ProgramGroups(.nowhere("no programs"))
            : try ProgramGroups.prepare(configuration.controlGroups, isCheck: false)
        try controlGroups.check(configuration.selectors)
        if case .tree(let tree, _) = controlGroups.place {
            log.notice("programs run in control groups below \(tree.path)")
        }
        for line in controlGroups.descriptions(of: configuration.selectors) { log.notice(line) }
        children = ChildRegistry(
            of: configuration.ownPlace, configuration.limits, in: controlGroups)
        try MachineRoom.check(for: configuration)
        do throws(SystemError) {
            try StandardStream.openMissing()
            Signal.ignoreBrokenPipes()
            Signal.ignoreFileSizeLimit()
            Signal.reset([.childEnded])
            Signal.block(Self.signals)
            Self.warnOfEarlierThreads(log)
            let limit = try ResourceLimit.raiseOpenDescriptors()
            log.debug("descriptors: \(limit.before) raised to \(limit.now)")
            loop = ThreadRunLoop.current
            linkSecret =
                String(try SystemRandom.number(), radix: 36)
                + String(try SystemRandom.number(), radix: 36)
            io = try WorkerThread(name: "io")
            var groups: [WorkerGroup] = []
            let clocks = Self.clocks(by: clock)
            for thread in configuration.threads { groups.append(try WorkerGroup(thread, clocks)) }
            self.groups = groups
        } catch {
            throw DaemonError("can't start: \(error)", exitStatus: DaemonError.systemFault)
        }
        let inherited = try InheritedSockets(
            Program.inheritedEnvironment(), processID: ProcessStatistics.processID)
        standby = StandbyDoors(configuration, inherited, io, manager, log)
        let running = Confined(self, to: loop)
        let events = MessagePort<Event> { running.value.handle($0) }
        events.add(to: loop)
        self.events = events
        try prepareLoop()
        let recovery: StoreRecovery
        do throws(DaemonError) {
            (journal, recovery) = try openStore(serving: Set(handlers.keys))
        } catch {
            standby.close()
            throw standby.fault ?? error
        }
        service = try startService(handlers, events, recovery)
    }

    private static func clocks(by shared: SharedClock) -> Clocks {
        Clocks(loop: SystemClock(), wall: WallTime(of: shared))
    }

    /// Warns of threads that let SIGTERM end the process, before the first one comes.
    private static func warnOfEarlierThreads(_ log: Log) {
        guard let names = try? Signal.threadsLettingIn(signals), !names.isEmpty else { return }
        log.warning(
            "SIGTERM and other signals may end the process at once: threads that were started "
                + "before the daemon do not block them: \(names.joined(separator: ", "))")
    }

    /// Opens the store of the configuration.
    private func openStore(
        serving selectors: Set<String>
    ) throws(DaemonError) -> (any JobStore, StoreRecovery) {
        guard let place = configuration.storePlace(in: Program.inheritedEnvironment()) else {
            throw DaemonError(
                "stateDirectory: is missing: with a database, attempts are noted in a file of this "
                    + "machine; name a directory for it",
                exitStatus: DaemonError.badConfiguration)
        }
        let (children, log, standby) = (children, log, standby)
        var card = configuration.nodeCard
        card.linkSecret = linkSecret
        do {
            let kept = try OpenedStore.open(
                place, configuration.limits, card: card, serving: selectors,
                clocks: Self.clocks(by: clock), shared: clock, log: log,
                sharesThreads: configuration.node.sharesThreads,
                isWanted: { standby.isWanted && !Signal.isPending(oneOf: Self.endSignals) },
                whenWaiting: {
                    log.notice("another daemon has the store: this one waits to take it over")
                    standby.open()
                },
                whenSeen: { standby.follow($0) },
                whenLost: { Self.end(children, log, because: $0) })
            guard let opened = kept else {
                let advice = configuration.store == .automatic ? " (set store to keep them)" : ""
                log.notice("jobs are in memory only, and end with workerd\(advice)")
                return (NoStore(), StoreRecovery())
            }
            let recovery = opened.recovery
            let found = recovery.part.amounts.values.reduce(into: [:]) {
                $0.merge($1.mapValues(\.count), uniquingKeysWith: +)
            }
            let deferred =
                (found[.delayed] ?? 0) + (found[.buffered] ?? 0) + recovery.blockers.count
            let waiting = found[.waiting] ?? 0
            log.notice(
                "jobs are kept in \(opened.store.name): "
                    + (recovery.part.isLast
                        ? "\(waiting) waiting, \(deferred) delayed or buffered"
                        : "at least \(waiting + deferred) that have not ended"))
            return (opened.store, recovery)
        } catch let fault as StoreFault {
            if [.inUse, .away].contains(fault.kind), Signal.isPending(oneOf: Self.endSignals) {
                throw DaemonError("ended while it waited for the store", exitStatus: 0)
            }
            // A fault that may have passed at another try, or one that can't.
            let isPassing = [.inUse, .full, .failed, .away].contains(fault.kind)
            throw DaemonError(
                "store: \(fault)",
                exitStatus: isPassing ? DaemonError.unavailable : DaemonError.badConfiguration)
        } catch {
            throw DaemonError("can't start: \(error)", exitStatus: DaemonError.systemFault)
        }
    }

    /// Ends the process: another daemon, or the next start of this one, has the jobs and may begin
    /// each of them.
    ///
    /// - Thread: any.
    private static func end(_ children: ChildRegistry, _ log: Log, because fault: StoreFault) {
        log.error("store: \(fault)")
        let status =
            fault.kind == .promoted ? DaemonError.tryAgain : DaemonError.unavailable
        children.killAll(within: lostStorePatience) { ProcessExit.now(status: status) }
    }

    /// How long the programs of a daemon that has lost its store may take to end.
    private static let lostStorePatience = Duration.seconds(1)

    /// Opens all descriptors that the main loop needs, before clients can take the last ones.
    private func prepareLoop() throws(DaemonError) {
        do throws(SystemError) {
            let descriptor = try SignalDescriptor(Self.signals)
            let running = Confined(self, to: loop)
            let port = ThreadRunLoop.Port(watching: descriptor.descriptor.number) { _, _ in
                running.value.signalsArrived()
            }
            signalDescriptor = consume descriptor
            try loop.add(port)
            signalPort = port
        } catch {
            throw DaemonError(
                "can't receive signals: \(error)", exitStatus: DaemonError.systemFault)
        }
        // The first run opens the main dispatch queue; in a mode without items it handles nothing.
        _ = loop.run(mode: ThreadRunLoop.Mode("start of workerd"))
    }

    /// Serves signals and events until everything is down.
    func run() -> Int32 {
        announce()
        while hasStuckThreads == nil { _ = loop.run(mode: .default) }
        signalPort?.invalidate()
        return end()
    }

    private func startService(
        _ handlers: [String: Handler], _ events: MessagePort<Event>, _ recovery: StoreRecovery
    ) throws(DaemonError) -> Confined<Service> {
        let users = try UserBook.load(configuration, of: configurationFile, log)
        let certificates = try DoorCertificates(configuration.listen, log)
        let main = loop
        let (configuration, groups, children, log) = (configuration, groups, children, log)
        let (journal, manager, present) = (journal, manager, present)
        let source = configurationFile.map {
            ReloadSource(
                path: $0, registered: handlers.filter(\.value.isRegistered), children: children,
                log: log)
        }
        let (standby, clock, linkSecret) = (standby, clock, linkSecret)
        do {
            return try io.submitAndWait { @Sendable in
                let service = try Service.assemble(
                    configuration, handlers, groups, journal, nextNumber: recovery.nextNumber,
                    children: children, users: users, clocks: Self.clocks(by: clock), log: log,
                    shutdownAsked: { events.send(.shutdownAsked($0)) })
                let admitWaiting = standby.handOver(to: service)
                do {
                    try service.openDoors(
                        configuration.listen, certificates, standby.unusedSockets)
                } catch {
                    // One may be open: its port in the loop would keep the socket's file.
                    service.closeDoors()
                    service.schedules.close()
                    throw error
                }
                // Not before: a daemon that can't listen runs nothing. And while the one before it
                // had the doors or the store, these were its own.
                if !configuration.selectors.isEmpty {
                    children.controlGroups.endLeftPrograms(log)
                    children.mark.endLeftPrograms(log)
                }
                if let seat = journal.sharedSeat {
                    service.share(threadsOf: seat, linkSecret: linkSecret)
                } else {
                    service.driver.restore(recovery)
                    service.schedules.start(
                        configuration.schedules, recovered: recovery.schedules)
                }
                service.reloads.prepare(source, manager) { present.set($0) }
                service.health.askMain = { main.perform($0) }
                let confined = Confined(service, to: service.loop)
                clock.whenSet { [loop = service.loop] in
                    loop.perform { confined.value.schedules.clockWasSet() }
                }
                service.isStarted = true
                admitWaiting()
                if let heartbeat = manager.heartbeat {
                    Heartbeat(service.driver, service.health, tell: manager.daemonIsAlive)
                        .start(every: heartbeat)
                }
                return Confined(service, to: service.loop)
            }
        } catch let error as DaemonError {
            throw error
        } catch let error as SocketError {
            throw DaemonError("can't listen: \(error)", exitStatus: DaemonError.unavailable)
        } catch {
            throw DaemonError("can't start: \(error)", exitStatus: DaemonError.systemFault)
        }
    }

    private func announce() {
        let threadCount = groups.reduce(0) { $0 + $1.members.count }
        log.notice("workerd \(Service.version): \(counted(threadCount, "worker thread"))")
        manager.daemonIsReady("serving \(counted(threadCount, "worker thread"))")
        if let address = configuration.listen.tcp {
            let tls = configuration.listen.tls == nil ? "" : " with TLS"
            log.notice("listening on \(address)\(tls)")
        }
        let http = configuration.listen.http
        if let address = http.tcp { log.notice("HTTP on \(http.scheme)://\(address)/") }
        if let path = http.unix { log.notice("HTTP on \(path)") }
        guard let path = configuration.listen.unix else { return }
        log.notice("listening on \(path)")
        guard let thread = groups.first?.name else { return }
        log.notice("try:  redis-cli -s \(path) PERFORM \(thread) sha256 WAIT hello")
        log.notice("      \(Self.toolForPeople) --socket \(path) threads")
    }

    /// How `workerctl` is called from a shell: by its path, if it lies beside a `workerd` that was
    /// called by one.
    private static var toolForPeople: String {
        let name = "workerctl"
        let own = CommandLine.arguments.first ?? ""
        guard let slash = own.lastIndex(of: "/") else { return name }
        let beside = own[...slash] + name
        return FileChecks.system.kind(String(beside)) == .program ? String(beside) : name
    }

    private func signalsArrived() {
        while let received = try? signalDescriptor?.next() {
            if received.signal == .childEnded {
                collectAdoptedSoon()
                continue
            }
            let sender = received.senderProcessID
            log.notice("\(received.signal) from process \(sender)")
            switch received.signal {
            case .user1: describeLoops()
            case .hangUp: reload(askedBy: "process \(sender)")
            default: shutdownSignal(received.signal)
            }
        }
    }

    private func reload(askedBy origin: String) {
        guard let service else { return }
        do throws(SubmitError) {
            try io.post {
                // The log tells what became of it.
                service.value.reloads.reload(
                    Reloads.Order(isDry: false, origin: origin) { _ in })
            }
        } catch {
            log.error("not reloaded: \(error)")
        }
    }

    private func collectAdoptedSoon() {
        guard adoptedTimer == nil else { return }
        let running = Confined(self, to: loop)
        let soon = loop.now.advanced(by: Self.adoptedPatience)
        let timer = ThreadRunLoop.Timer(at: soon) { _ in
            running.value.adoptedTimer = nil
            _ = try? AdoptedProcesses.collectEnded()
        }
        adoptedTimer = timer
        loop.add(timer)
    }

    private func shutdownSignal(_ signal: Signal) {
        shutdownSignalCount += 1
        if shutdownSignalCount > 1 { endAtOnce(status: Self.endedBySignal + Int32(signal.number)) }
        shutDown(.finishRunning)
    }

    private func shutDown(_ manner: ShutdownMode) {
        guard let service, let events else { return }
        if manner == .finishWaiting {
            // That may take hours: the manager would end it.
            manager.show("going down when all waiting jobs are done")
        } else {
            manager.daemonIsStopping(within: Shutdown.longest(present.value))
        }
        do throws(SubmitError) {
            try io.post {
                service.value.shutDown(manner) { events.send(.isDown(hasStuckThreads: $0)) }
            }
        } catch {
            log.error("can't go down in order: \(error)")
            endAtOnce(status: DaemonError.systemFault)
        }
    }

    private func handle(_ event: Event) {
        switch event {
        case .shutdownAsked(let manner): shutDown(manner)
        case .isDown(let hasStuckThreads):
            self.hasStuckThreads = hasStuckThreads
            loop.stop()
        }
    }

    private func describeLoops() {
        let log = log
        log.notice("thread main\n\(loop.describe())")
        for thread in [io] + groups.flatMap({ $0.members.map(\.thread) }) {
            let name = thread.name
            thread.describe { log.notice("thread \(name)\n\($0)") }
        }
    }

    /// Ends the threads, when they can be ended.
    private func end() -> Int32 {
        // The loop receives no signal any more, and the disk may take long: the next one ends the
        // process, whose programs have ended.
        if shutdownSignalCount > 0 { Signal.unblock(Self.endSignals) }
        let isStuck = hasStuckThreads == true
        let groups = try? io.submitAndWait { [service] in service?.value.driver.allGroups ?? [] }
        if !isStuck { groups?.forEach { $0.pool.join() } }
        let nextNumber = try? io.submitAndWait { [service] in
            service?.value.close()
            return service?.value.driver.scheduler.book.nextNumber
        }
        journal.close(nextNumber: (nextNumber ?? nil) ?? 0)
        // A thread whose job can't be stopped can't be joined.
        if isStuck { ProcessExit.now(status: 0) }
        io.stop()
        io.join()
        events?.invalidate()
        return 0
    }

    /// Ends the process now, and every child with it.
    private func endAtOnce(status: Int32) -> Never {
        log.warning("ending at once; jobs that ran are abandoned")
        // The socket's file may be a successor's by now. If it is still ours, it is replaced as
        // dead.
        children.killAll(within: .milliseconds(500)) { ProcessExit.now(status: status) }
    }
}

extension Duration {
    /// Whole milliseconds, rounded down.
    var milliseconds: Int64 {
        components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
    }
}
