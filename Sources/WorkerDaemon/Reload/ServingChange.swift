// One change of threads and selectors, in steps: selectors, then threads; each step waits for the
// scheduler's answers. The new threads are started before anything changes, so that a machine
// without room for them refuses the whole reload.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import WorkerThreads

/// A change of what the driver serves.
///
/// Confined to the driver's thread.
final class ServingChange {
    private let driver: SchedulerDriver
    private let difference: ConfigurationDifference
    private let handlers: [String: Handler]
    /// The threads that come, by the names of their groups.
    private var fresh: [String: WorkerGroup] = [:]
    /// How many answers are awaited.
    private var awaitedCount = 0
    private var error: JobError?
    private var next: () -> Void = {}

    /// Starts the threads that come.
    ///
    /// - Throws: when the system has no room for them; then nothing has changed.
    init(
        _ difference: ConfigurationDifference, _ handlers: [String: Handler],
        _ driver: SchedulerDriver
    ) throws(SystemError) {
        self.driver = driver
        self.difference = difference
        self.handlers = handlers
        for change in difference.threads {
            switch change {
            case .added(let thread): fresh[thread.name] = try WorkerGroup(thread, driver.clocks)
            case .changed(let before, let thread) where before.count != thread.count:
                fresh[thread.name] = try WorkerGroup(thread, driver.clocks)
            case .changed, .removed: break
            }
        }
    }

    /// - Parameter whenDone: called when all of it is applied, or with the reason why the rest is
    ///   not.
    func begin(_ whenDone: @escaping (JobError?) -> Void) {
        guard !difference.threads.isEmpty || !difference.selectors.isEmpty else {
            arrange()
            return whenDone(nil)
        }
        driver.whenCounted { [self] in
            // A thread that comes while the others stop would not be told to.
            guard !driver.isRefusing else { return whenDone(.shuttingDown) }
            step(
                { changeSelectors() },
                then: { [self] in
                    if driver.isRefusing { error = error ?? .shuttingDown }
                    guard error == nil else { return whenDone(error) }
                    step({ changeThreads() }, then: { [self] in whenDone(error) })
                })
        }
    }

    /// Does a step, and goes on when all that it asks for is answered.
    private func step(_ body: () -> Void, then next: @escaping () -> Void) {
        self.next = next
        // For the step itself: some answers come at once.
        awaitedCount = 1
        body()
        answered(nil)
    }

    private func answered(_ error: JobError?) {
        self.error = self.error ?? error
        awaitedCount -= 1
        guard awaitedCount == 0 else { return }
        // It retains this object, and with it threads that a later change replaces.
        let next = next
        self.next = {}
        next()
    }

    private func ask(
        _ body: (inout JobScheduler, ReplyToken) -> Void,
        then: @escaping (JobError?) -> Void
    ) {
        awaitedCount += 1
        driver.ask(body) { [self] error in
            then(error)
            // A store that fails is asked again.
            if case .storeFailed = error { answered(nil) } else { answered(error) }
        }
    }

    // MARK: - Selectors

    private func changeSelectors() {
        guard !difference.selectors.isEmpty else { return }
        var handlers = handlers
        // The code of a selector that stays is the same object.
        let changed = Set(
            difference.selectors.map { change in
                switch change {
                case .added(let selector), .removed(let selector), .changed(_, let selector):
                    selector.name
                }
            })
        for (name, handler) in driver.handlers where handlers[name] != nil {
            if !changed.contains(name) { handlers[name] = handler }
        }
        let threads = driver.serve(handlers)
        for group in Set(threads.map { PoolSlot.shown(ThreadGroup.name(of: $0)) }).sorted() {
            if let group = try? driver.group(of: group) { driver.tellRunning(of: group) }
        }
        for thread in threads {
            ask({ $0.release(thread, keepsNew: true, $1) }, then: { _ in })
            claim(thread)
        }
    }

    // MARK: - Threads

    private func changeThreads() {
        for change in difference.threads {
            switch change {
            case .added(let thread):
                guard let group = fresh[thread.name] else { continue }
                driver.pauseAgain(group, "before")
                for name in driver.serve(group) { claim(name) }
            case .removed(let thread): remove(thread.name)
            case .changed(_, let thread):
                driver.limit(thread)
                if fresh[thread.name] != nil { replaceThreads(of: thread.name) }
            }
        }
        arrange()
        offerAgain()
    }

    /// Puts the threads into the order of the configuration, in which they are listed.
    private func arrange() { driver.arrange(difference.after.threads.map(\.name)) }

    private func remove(_ name: String) {
        guard let group = driver.groups.first(where: { $0.name == name }) else { return }
        driver.tellRunning(of: group)
        driver.groups.removeAll { $0 === group }
        ask(
            { $0.remove(group: name, $1) },
            then: { [driver] error in
                if error == nil { driver.retire(group) }
            })
    }

    private func replaceThreads(of name: String) {
        guard let group = driver.groups.first(where: { $0.name == name }),
            let fresh = fresh[name]
        else { return }
        suspend(group) { [self] in
            driver.pauseAgain(fresh, "before")
            let new = driver.replace(group, by: fresh)
            // Behind the waiting jobs, which run.
            driver.stopAgain(fresh, as: group)
            for name in new { claim(name) }
            driver.retire(group)
        }
    }

    /// Offers jobs again that wait for workers although their selector is no more for workers, with
    /// all waiting jobs of their groups, whose order stays.
    ///
    /// Jobs in workers' hands are offered again when they come back.
    private func offerAgain() {
        var selectors: Set<String> = []
        for case .changed(let before, let selector) in difference.selectors
        where before.isForWorkers && !selector.isForWorkers {
            selectors.insert(selector.name)
        }
        if !selectors.isEmpty { driver.input { $0.offerAgain(jobsOf: selectors) } }
    }

    /// Withdraws the waiting jobs of a group, and goes on once its running jobs have ended.
    private func suspend(_ group: WorkerGroup, then body: @escaping () -> Void) {
        driver.tellRunning(of: group)
        ask({ $0.suspend(group: group.name, $1) }, then: { error in if error == nil { body() } })
    }

    private func claim(_ thread: String) {
        awaitedCount += 1
        driver.claim(thread) { [self] in answered($0) }
    }
}
