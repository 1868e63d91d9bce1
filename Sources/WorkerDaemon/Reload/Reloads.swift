// Reloads of the configuration on the thread `io`, one at a time: a thread of its own reads the
// file, then the difference is applied and the clients are answered.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Synchronization
internal import Wording

/// The reloads of a running daemon.
///
/// Confined to the service's thread.
final class Reloads {
    /// One reload, as it was asked for.
    struct Order {
        let isDry: Bool
        /// The client or process, for the log: `client 7`.
        let origin: String
        /// Told the lines of the difference when all is applied, or why nothing has changed.
        let answer: (Result<[String], WireError>) -> Void
    }

    /// More reloads at a time are refused.
    static let waitingCountMax = 16

    private unowned let service: Service
    /// Where the configuration is read; nil if it was made by code.
    var source: ReloadSource?
    /// Called before anything is applied, and with the configuration in force when all is.
    var whenBegun: () -> Void = {}
    var whenApplied: (Configuration) -> Void = { _ in }
    private var current: Order?
    private var waiting: [Order] = []
    private var thread: SystemThread?
    private(set) var appliedCount = 0
    private(set) var refusedCount = 0

    init(_ service: Service) { self.service = service }

    /// Lets the configuration be read from a file, and the service manager know of each reload.
    ///
    /// - Parameter whenApplied: told the configuration that is in force from then on.
    func prepare(
        _ source: ReloadSource?, _ manager: ServiceManager,
        whenApplied tell: @escaping (Configuration) -> Void
    ) {
        self.source = source
        whenBegun = { [unowned service] in manager.daemonReloads(at: service.loop.now) }
        whenApplied = { configuration in
            tell(configuration)
            let count = configuration.threads.reduce(0) { $0 + $1.count }
            manager.daemonIsReady("serving \(counted(count, "worker thread"))")
        }
    }

    /// Reads the configuration again and applies what has changed, after earlier reloads.
    func reload(_ order: Order) {
        service.log.notice("\(order.origin) asks for RELOAD\(order.isDry ? " DRY" : "")")
        guard !service.driver.isRefusing else { return refuse(order, WorkerExchange.goingDown) }
        guard source != nil else {
            return refuse(
                order,
                WireError(
                    .err,
                    "this daemon was configured by its program, not by a file: there is nothing to "
                        + "read again"))
        }
        guard current != nil else { return begin(order) }
        guard waiting.count < Self.waitingCountMax else {
            return refuse(
                order,
                WireError(
                    .busy, "\(waiting.count) reloads wait for an earlier one: try again later"))
        }
        waiting.append(order)
    }

    private func begin(_ order: Order) {
        guard let source else { return }
        current = order
        let (reloads, loop) = (Confined(self, to: service.loop), service.loop)
        do throws(SystemError) {
            thread = try SystemThread(name: "reload") {
                let result = Result { () throws(DaemonError) in try source.read() }
                loop.perform { reloads.value.wasRead(result) }
            }
        } catch {
            end(.failure(WireError(.busy, "there is no thread that reads the file: \(error)")))
        }
    }

    private func wasRead(_ result: Result<ReadConfiguration, DaemonError>) {
        if let thread = thread.take() { thread.join() }
        guard let order = current else { return }
        guard !service.driver.isRefusing else { return end(.failure(WorkerExchange.goingDown)) }
        switch result {
        case .failure(let error):
            end(.failure(WireError(.err, error.description.oneLine)))
        case .success(let read):
            let difference = ConfigurationDifference(
                from: service.configuration, to: read.configuration)
            guard difference.refusals.isEmpty else {
                return end(
                    .failure(WireError(.err, difference.refusals.joined(separator: "; "))))
            }
            let lines =
                difference.lines + service.users.changes(to: read.users)
                + service.certificates.changes(to: read.certificates)
            guard !order.isDry else { return end(.success(lines)) }
            whenBegun()
            for line in lines { service.log.notice("reload: \(line)") }
            service.apply(difference, read) { [unowned self] error in
                whenApplied(service.configuration)
                if let error { return end(.failure(error)) }
                appliedCount += 1
                service.log.notice(
                    lines.isEmpty
                        ? "reloaded: nothing has changed"
                        : "reloaded: \(counted(lines.count, "change"))")
                end(.success(lines))
            }
        }
    }

    private func end(_ result: Result<[String], WireError>) {
        guard let order = current.take() else { return }
        if case .failure(let error) = result {
            refuse(order, error)
        } else {
            order.answer(result)
        }
        if !waiting.isEmpty { begin(waiting.removeFirst()) }
    }

    private func refuse(_ order: Order, _ error: WireError) {
        refusedCount += 1
        service.log.error("not reloaded: \(error.message)")
        order.answer(.failure(error))
    }

    /// The daemon goes down: no reload begins any more, and all are answered.
    func giveUp() {
        let orders = waiting
        waiting = []
        for order in orders { refuse(order, WorkerExchange.goingDown) }
        if thread == nil { end(.failure(WorkerExchange.goingDown)) }
    }

    /// Waits for the thread that reads; its client is not answered.
    ///
    /// - Blocks: until the file is read.
    func close() {
        if let thread = thread.take() { thread.join() }
        current = nil
        waiting = []
    }
}

extension String {
    /// The text as one line: an error of the protocol has no more.
    fileprivate var oneLine: String { split(separator: "\n").joined(separator: "; ") }
}

/// The configuration in force.
///
/// - Thread: any thread.
final class PresentConfiguration: Sendable {
    private let configuration: Mutex<Configuration>

    init(_ configuration: Configuration) { self.configuration = Mutex(configuration) }

    var value: Configuration { configuration.withLock { $0 } }

    func set(_ value: Configuration) { configuration.withLock { $0 = value } }
}
