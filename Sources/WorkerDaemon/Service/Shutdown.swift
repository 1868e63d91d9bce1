// Going down: new jobs are refused, running jobs may finish within the grace period, waiting
// clients are told, and the log says what became of everything. The doors stay open until the end,
// for clients that look on. Confined to the thread `io`.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Wording
internal import WorkerThreads

/// A shutdown under way.
final class Shutdown {
    private let service: Service
    private let grace: Duration
    private let whenDown: @Sendable (_ hasStuckThreads: Bool) -> Void
    /// Whether threads still run something, and so can't be waited for.
    private var hasStuckThreads = false
    /// Durable jobs that did not begin: they are in the journal.
    private var keptCount = 0
    private var manner = ShutdownMode.finishWaiting
    private var isClosing = false
    private var areThreadsStopped = false
    private let totalsAtStart: JobTotals
    private var timers: [ThreadRunLoop.Timer] = []

    private var driver: SchedulerDriver { service.driver }
    private var activeCount: Int { driver.scheduler.book.activeCount }
    private var loop: ThreadRunLoop { service.loop }

    /// How long a Swift handler that was asked to end is waited for: it may listen, or not.
    private static let patience = Duration.seconds(1)

    /// How long the daemon waits for the end of a killed program.
    ///
    /// Only a stalled machine delays that end, so the wait is this long only there.
    /// `TimeoutStopSec` of Config/workerd.service has room for it.
    private static let patienceWithKilled = Duration.seconds(3)

    /// The same for both if all is to end now.
    private static let impatience = Duration.milliseconds(500)

    /// How long a client may take for the answers that are still on their way to it.
    private static let farewell = Duration.seconds(1)

    /// The longest time of a shutdown without a drain, its last answers included.
    static func longest(_ configuration: Configuration) -> Duration {
        let forPrograms = configuration.selectors.map(\.graceAfterTerm).max() ?? .zero
        return configuration.shutdown.grace + max(patience, forPrograms + patienceWithKilled)
            + farewell + .seconds(1)
    }

    /// Begins to go down.
    ///
    /// - Parameter whenDown: called on this thread once all is said and sent.
    init(
        _ service: Service, _ manner: ShutdownMode,
        whenDown: @escaping @Sendable (_ hasStuckThreads: Bool) -> Void
    ) {
        self.service = service
        grace = service.configuration.shutdown.grace
        self.whenDown = whenDown
        totalsAtStart = service.driver.scheduler.book.totals
        driver.input { $0.refuse() }
        service.reloads.giveUp()
        service.schedules.close()
        driver.exchange.close()
        driver.whenCompleted = { [unowned self] in lookIfDone() }
        service.backups.whenEnded = { [unowned self] in lookIfDone() }
        begin(manner)
    }

    /// Goes down in a more hurried manner than before; a less hurried one changes nothing.
    func hurry(to manner: ShutdownMode) {
        guard !isClosing, manner > self.manner else { return }
        begin(manner)
    }

    private func begin(_ manner: ShutdownMode) {
        self.manner = manner
        if manner > .finishWaiting { service.backups.giveUp() }
        switch manner {
        case .finishWaiting:
            keptCount += driver.input { $0.keepDelayed() + $0.abandonDelayed() }
            // Parked jobs have to be loaded before the threads may end: see lookIfDone.
            for group in driver.allGroups { group.pool.resume() }
        case .finishRunning:
            keptCount += driver.input { $0.keepParked() + $0.abandonWaiting() }
            stopThreads(.finishCurrent)
            let shutdown = Confined(self, to: loop)
            after(grace) { shutdown.value.graceIsOver() }
        case .now:
            keptCount += driver.input { $0.keepParked() + $0.abandonWaiting() }
            stopThreads(.finishCurrent)
        }
        service.log.notice(
            "going down: \(counted(activeCount, "job")) "
                + "\(manner == .now ? "stopped" : "let finish"), "
                + "\(driver.scheduler.stage.abandoned.waitingCount) abandoned before they began"
                + (!driver.store.isKeeping ? "" : ", \(keptCount) kept in the journal"))
        if manner == .now { stopRunning() }
        lookIfDone()
    }

    private func stopThreads(_ policy: StopPolicy) {
        areThreadsStopped = true
        for group in driver.allGroups {
            group.pool.resume()
            group.pool.stop(policy)
        }
    }

    private func graceIsOver() {
        guard !isClosing, manner != .now else { return }
        guard activeCount > leavable.count else { return lookIfDone() }
        service.log.warning(
            "stopping \(counted(activeCount, "job")), not ended within \(grace)")
        stopRunning()
    }

    /// Asks what still runs to end, and gives programs the time that they have after SIGTERM.
    private func stopRunning() {
        let left = leavable
        guard activeCount > left.count, !isClosing else { return }
        var patience = Duration.zero
        driver.input { $0.interruptAll(except: left) }
        for job in driver.scheduler.book.activeJobs {
            switch driver.handlers[job.details.selector]?.kind {
            case .program(let selector):
                patience = max(patience, selector.graceAfterTerm + Self.patienceWithKilled)
            case .closure, .task, .worker, nil:
                patience = max(patience, Self.patience)
            }
        }
        let shutdown = Confined(self, to: loop)
        after(manner == .now ? Self.impatience : patience) { shutdown.value.giveUp() }
    }

    /// Leaves alone what can't be stopped; its clients are told.
    private func giveUp() {
        guard !isClosing else { return }
        leaveToWorkers()
        driver.children.killAll()
        for job in driver.scheduler.book.activeJobs.sorted(by: { $0.id < $1.id }) {
            let place = driver.scheduler.beginning(of: job)?.thread ?? job.thread
            let title = JobContext.title(of: job.id.number, job.details)
            service.log.warning(
                (job.isStored ? "put back" : "abandoned") + " \(title) that still runs on \(place)")
        }
        hasStuckThreads = activeCount > 0
        driver.input { $0.abandonRunning() }
        lookIfDone()
    }

    /// The jobs that workers in other processes go on with after the end of the daemon.
    private var leavable: Set<JobID> {
        manner > .finishWaiting ? driver.exchange.leavable : []
    }

    private func leaveToWorkers() {
        let left = leavable
        driver.exchange.leaveToWorkers(left)
        for id in left.sorted() { driver.input { $0.leaveWithWorker(id) } }
        guard !left.isEmpty else { return }
        keptCount += left.count
        service.log.notice("\(counted(left.count, "job")) left to the workers that hold them")
    }

    private func lookIfDone() {
        guard !isClosing else { return }
        if !areThreadsStopped, driver.scheduler.areAllInMemory { stopThreads(.finishQueued) }
        guard activeCount <= leavable.count, areThreadsStopped, !service.backups.isUnderWay
        else { return }
        isClosing = true
        leaveToWorkers()
        // After a drain, nothing else tells the clients that wait for buffered jobs.
        _ = driver.input { $0.keepParked() }
        let shutdown = Confined(self, to: loop)
        driver.confirm { fault in
            if let fault {
                shutdown.value.service.log.error("not all could be recorded: \(fault)")
            }
            shutdown.value.isRecorded()
        }
    }

    /// All has ended, and the journal knows it.
    private func isRecorded() {
        timers.forEach { $0.invalidate() }
        timers.removeAll()
        let leftBehind = driver.threads.replaced.filter { !$0.hasEnded }
        if !leftBehind.isEmpty {
            hasStuckThreads = true
            let names = leftBehind.map(\.name).joined(separator: ", ")
            service.log.warning("threads that hang and were replaced are not waited for: \(names)")
        }
        let (before, now) = (totalsAtStart, driver.scheduler.book.totals)
        let stage = driver.scheduler.stage
        let finishedCount = Int(now.done + now.failed - before.done - before.failed)
        service.log.notice(
            "down: \(counted(finishedCount, "job")) finished, "
                + "\(now.cancelled - before.cancelled) stopped, "
                + "\(stage.abandoned.waitingCount) abandoned before they began, "
                + "\(stage.abandoned.begunCount) abandoned while they ran"
                + (!driver.store.isKeeping
                    ? "" : ", \(keptCount) kept in the journal, \(stage.requeuedCount) put back"))
        let shutdown = Confined(self, to: loop)
        service.closeDoors()
        service.whenLastSessionEnds { shutdown.value.sayDown() }
        service.closeSessions()
        after(Self.farewell) { shutdown.value.service.dropSessions() }
    }

    private func sayDown() {
        timers.forEach { $0.invalidate() }
        timers.removeAll()
        whenDown(hasStuckThreads)
    }

    private func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) {
        let timer = ThreadRunLoop.Timer(at: loop.now.advanced(by: delay)) { _ in body() }
        timers.append(timer)
        loop.add(timer)
    }
}
