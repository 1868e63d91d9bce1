// Messages to the service manager that started the daemon: systemd, or one with its protocol.

internal import Kernel

/// The service manager, if one wants to know how the daemon is.
///
/// - Thread: any.
/// - Source: sd_notify(3), sd_watchdog_enabled(3).
struct ServiceManager: Sendable {
    /// Variables that are meant for the daemon alone, and not for its programs.
    static let variables = InheritedSockets.variables.union([
        socketVariable, "WATCHDOG_USEC", "WATCHDOG_PID",
    ])
    private static let socketVariable = "NOTIFY_SOCKET"

    private let socket: String?
    private let log: Log
    /// The time between two signs of life: half the time after which the manager restarts the
    /// daemon; nil if it does not watch.
    let heartbeat: Duration?

    /// - Parameter environment: the daemon's environment at its start.
    init(_ environment: [String: String], processID: Int, log: Log) {
        socket = environment[Self.socketVariable].flatMap { $0.isEmpty ? nil : $0 }
        self.log = log
        let isForUs = environment["WATCHDOG_PID"].map { Int($0) == processID } ?? true
        let limit = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        heartbeat = isForUs && limit > 1 ? .microseconds(limit / 2) : nil
    }

    /// The daemon serves: services that were started after it may connect.
    func daemonIsReady(_ status: String) { tell("READY=1\nSTATUS=\(status)") }

    /// The daemon reads its configuration again; `daemonIsReady` follows.
    ///
    /// - Source: sd_notify(3); MONOTONIC_USEC= is by CLOCK_MONOTONIC.
    func daemonReloads(at now: Instant) {
        tell("RELOADING=1\nMONOTONIC_USEC=\(now.nanoseconds / 1_000)")
    }

    /// Shows people a status of the daemon.
    func show(_ status: String) { tell("STATUS=\(status)") }

    /// The daemon goes down and needs up to this time, whatever the unit says.
    func daemonIsStopping(within time: Duration) {
        tell("STOPPING=1\nEXTEND_TIMEOUT_USEC=\(time.milliseconds * 1_000)\nSTATUS=going down")
    }

    /// The daemon waits for another one to end: it is not ready for a while, and that is no fault.
    func daemonWaits() {
        tell("EXTEND_TIMEOUT_USEC=10000000\nSTATUS=waits for the store of another daemon")
    }

    /// The daemon's own loops answer.
    func daemonIsAlive() { tell("WATCHDOG=1") }

    private func tell(_ message: String) {
        guard let socket else { return }
        do throws(SystemError) {
            try Datagram.send(Array(message.utf8), to: socket)
        } catch {
            log.warning("can't tell the service manager: \(error)")
        }
    }
}
