// The doors of a daemon that waits for the store, as the threads see them that start it: opened
// when the waiting begins, and given to the service when it is over.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Synchronization
internal import WorkerThreads

/// The relay of a daemon that waits, on the thread `io`.
///
/// - Thread: any, one call at a time.
final class StandbyDoors: Sendable {
    private struct State {
        var relay: Confined<Relay>?
        var heartbeat: Confined<ThreadRunLoop.Timer>?
        var fault: DaemonError?
        /// The owner of the store at the last look.
        var holder: SeatHolder?
    }

    private let configuration: Configuration
    private let inherited: InheritedSockets
    private let io: WorkerThread
    private let manager: ServiceManager
    private let log: Log
    private let state = Mutex(State())

    init(
        _ configuration: Configuration, _ inherited: InheritedSockets, _ io: WorkerThread,
        _ manager: ServiceManager, _ log: Log
    ) {
        self.configuration = configuration
        self.inherited = inherited
        self.io = io
        self.manager = manager
        self.log = log
    }

    /// Why the daemon can't wait: sockets of the service manager that do not fit its doors.
    var fault: DaemonError? { state.withLock { $0.fault } }

    /// Whether the store is waited for.
    ///
    /// The service manager is told that the daemon does, as long as it is not ready.
    var isWanted: Bool {
        let (isReady, fault) = state.withLock { ($0.relay != nil, $0.fault) }
        if !isReady { manager.daemonWaits() }
        return fault == nil
    }

    /// The sockets of the service manager that no door has.
    var unusedSockets: InheritedSockets? { state.withLock { $0.relay == nil } ? inherited : nil }

    /// Opens the doors; the daemon waits without them if another one of this machine has them.
    ///
    /// - Thread: any but `io`.
    /// - Blocks: for `io`, and the disk.
    func open() {
        do {
            let (configuration, inherited, manager, log) = (configuration, inherited, manager, log)
            let made = try io.submitAndWait { @Sendable in
                let loop = ThreadRunLoop.current
                let relay = Relay(configuration, on: loop, log)
                try relay.open(inherited)
                var timer: ThreadRunLoop.Timer?
                if let pause = manager.heartbeat {
                    let beat = ThreadRunLoop.Timer(at: loop.now, every: pause) { _ in
                        manager.daemonIsAlive()
                    }
                    loop.add(beat)
                    timer = beat
                }
                return (Confined(relay, to: loop), timer.map { Confined($0, to: loop) })
            }
            state.withLock { ($0.relay, $0.heartbeat) = made }
            manager.daemonIsReady("passes its clients on to the daemon that has the store")
            for door in configuration.listen.doors {
                log.notice("clients of \(door.place) are passed on")
            }
        } catch let fault as DaemonError {
            state.withLock { $0.fault = fault }
        } catch  where inherited.isEmpty {
            log.warning("no clients are passed on meanwhile: can't listen: \(error)")
        } catch {
            let fault = DaemonError(
                "can't listen: \(error)", exitStatus: DaemonError.unavailable)
            state.withLock { $0.fault = fault }
        }
    }

    /// Passes clients on to the daemon that has the store; `io` sleeps while that is the same.
    ///
    /// - Thread: any but `io`.
    func follow(_ holder: SeatHolder) {
        let (relay, isSame) = state.withLock { state in
            defer { state.holder = holder }
            return (state.relay, state.holder == holder && holder != .unknown)
        }
        guard let relay, !isSame else { return }
        try? io.post { relay.value.follow(holder) }
    }

    /// Gives the doors to the service of this daemon.
    ///
    /// - Returns: lets it serve the connections of which nothing was passed on.
    /// - Thread: `io`.
    func handOver(to service: Service) -> () -> Void {
        let (relay, heartbeat) = state.withLock { ($0.relay, $0.heartbeat) }
        heartbeat?.value.invalidate()
        guard let relay = relay?.value else { return {} }
        service.doorsOutliveIt = relay.areDoorsInherited
        service.doors = relay.doors
        for (_, door) in relay.doors {
            door.admit = { [unowned service] in service.admit($0, through: $1) }
        }
        return { relay.handOver { service.admit($0, through: $1) } }
    }

    /// Closes the doors and all connections.
    ///
    /// - Thread: any but `io`.
    /// - Blocks: for `io`.
    func close() {
        guard let relay = state.withLock({ $0.relay }) else { return }
        try? io.submitAndWait { @Sendable in relay.value.close() }
    }
}

extension DoorSetting.Place: CustomStringConvertible {
    /// The path, or the address.
    var description: String {
        switch self {
        case .unix(let path): path
        case .tcp(let address): "\(address)"
        }
    }
}
