// Where every job is known from the moment it is accepted until it is forgotten: the store, the
// lanes it waits in, who waits for it. Confined to one loop's thread; workers report back to it
// through a message port, so nothing in here takes a lock.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Synchronization
internal import WorkerThreads

/// The desk over which all jobs go.
///
/// Confined to its loop's thread.
final class JobDesk {
    /// What a client asks for.
    struct Request {
        var thread: String
        var selector: String
        var payload: [UInt8]
        var priority = Priority.normal
        /// When it is due, in Unix milliseconds; nil is now.
        var dueAt: Int64?
        var timeoutMilliseconds: Int?
    }

    let loop: ThreadRunLoop
    let log: Log
    let lanes: [Lane]
    let handlers: [String: Handler]
    let children: ChildRegistry
    private(set) var store: MemoryStore
    /// The jobs that have not ended; only the desk changes it.
    var live: [JobID: LiveJob] = [:]
    /// Jobs that were collected for a lane and not yet fired, in order.
    var buffered: [String: [JobID]] = [:]
    private(set) var isRefusing = false
    /// How many jobs of each lane are held here, for their time or to be fired.
    private var heldCounts: [String: Int] = [:]
    /// Called after completions have been handled.
    var whenCompleted: (() -> Void)?
    private var owedWakes: [WorkerPool.OwedWake] = []
    private static let owedWakeCountMax = 16
    private let lanesByThread: [String: Lane]
    private var completions: MessagePort<Completion>?

    /// - Parameters:
    ///   - lanes: the configured threads.
    ///   - handlers: the code behind each selector.
    init(
        lanes: [Lane], handlers: [String: Handler], store: MemoryStore, children: ChildRegistry,
        loop: ThreadRunLoop, log: Log
    ) {
        self.lanes = lanes
        self.handlers = handlers
        self.store = store
        self.children = children
        self.loop = loop
        self.log = log
        var lanesByThread: [String: Lane] = [:]
        for lane in lanes {
            lanesByThread[lane.name] = lane
            for member in lane.members { lanesByThread[member.thread.name] = lane }
        }
        self.lanesByThread = lanesByThread
        let desk = Confined(self, to: loop)
        let completions = MessagePort<Completion> { desk.value.complete($0) }
        completions.add(to: loop)
        self.completions = completions
    }

    /// Ends the reporting; breaks the cycle between the desk and its port.
    func close() {
        completions?.invalidate()
        completions = nil
    }

    /// Refuses new jobs from now on.
    func refuse() { isRefusing = true }

    /// The lane behind a lane's or a member's name.
    func lane(of thread: String) throws(WireError) -> Lane {
        guard let lane = lanesByThread[thread] else {
            throw WireError(.noThread, "there is no thread \(quoted(thread)); THREADS lists them")
        }
        return lane
    }

    /// Accepts a job: from now on it is known by its number.
    ///
    /// - Parameter hold: keeps it in the lane's buffer until it is fired.
    func accept(_ request: Request, hold: Bool = false) throws(WireError) -> JobID {
        if isRefusing { throw WireError(.shuttingDown, "the daemon is going down") }
        let lane = try lane(of: request.thread)
        guard let handler = handlers[request.selector] else {
            throw WireError(
                .noSelector,
                "there is no selector \(quoted(request.selector)); SELECTORS lists them")
        }
        if (try? lane.pool.isStopped(onThread: request.thread)) != false {
            throw WireError(.noThread, "thread \(request.thread) has been stopped")
        }
        let waiting = waitingCount(of: lane)
        if waiting >= lane.maxQueued {
            throw WireError(
                .busy, "thread \(lane.name) holds \(waiting) waiting jobs, its limit; try later")
        }
        let now = WallClock.unixMilliseconds()
        let id = try keep(request, hold: hold, at: now)
        let context = JobContext(
            id: id.number, selector: request.selector, payload: request.payload, attempt: 1,
            timeout: request.timeoutMilliseconds.map { .milliseconds($0) } ?? handler.timeout)
        let job = LiveJob(
            id, context, handler, for: request.thread, of: lane, priority: request.priority)
        live[id] = job
        if hold {
            heldCounts[lane.name, default: 0] += 1
            buffered[lane.name, default: []].append(id)
        } else if let due = request.dueAt, due > now {
            heldCounts[lane.name, default: 0] += 1
            delay(job, byMilliseconds: due - now)
        } else {
            submit(job)
        }
        return id
    }

    /// Hands over what was collected for a thread.
    ///
    /// - Returns: how many jobs.
    func fire(_ thread: String) throws(WireError) -> Int {
        let lane = try lane(of: thread)
        let collected = buffered.removeValue(forKey: lane.name) ?? []
        // A member's name fires what was collected for this member; the pool's name fires it all.
        let isFired = { [live] (id: JobID) in thread == lane.name || live[id]?.thread == thread }
        let kept = collected.filter { !isFired($0) }
        if !kept.isEmpty { buffered[lane.name] = kept }
        let fired = collected.filter { isFired($0) }
        for id in fired {
            if let job = live[id] { release(job) }
        }
        return fired.count
    }

    /// How many jobs of a lane have been accepted and have not begun.
    func waitingCount(of lane: Lane) -> Int {
        lane.pool.waitingCount + (heldCounts.isEmpty ? 0 : heldCounts[lane.name] ?? 0)
    }

    /// Notes in the store which jobs have begun: workers report only their ends.
    func noteRunning() {
        for member in lanes.flatMap(\.members) {
            guard let context = member.current.withLock({ $0 }), let run = context.run else {
                continue
            }
            noteStart(JobID(context.id), on: run.thread, at: run.startedAt)
        }
    }

    private func submit(_ job: LiveJob) {
        guard let completions else { return }
        let (context, lane, handler, children) = (job.context, job.lane, job.handler, children)
        do throws(SubmitError) {
            let (ticket, owed) = try lane.pool.submitOwingWake(
                onThread: job.thread, priority: job.priority.submitPriority
            ) {
                if let completion = lane.run(context, handler, children: children) {
                    completions.send(completion)
                }
            }
            job.ticket = ticket
            if let owed { owe(owed) }
        } catch {
            // The thread was stopped between the look and the submit.
            _ = withdraw(job)
        }
    }

    /// Wakes a thread for its jobs at the end of the pass, or after so many, whichever is first.
    ///
    /// A thread that is woken for each job of a batch runs it and sleeps again before the next is
    /// parsed: one futex call for each job, where one for each batch does.
    private func owe(_ wake: WorkerPool.OwedWake) {
        owedWakes.append(wake)
        if owedWakes.count == 1 {
            let desk = Confined(self, to: loop)
            loop.perform { desk.value.payWakes() }
        } else if owedWakes.count == Self.owedWakeCountMax {
            payWakes()
        }
    }

    private func payWakes() {
        owedWakes.forEach { $0.pay() }
        owedWakes.removeAll(keepingCapacity: true)
    }

    private func delay(_ job: LiveJob, byMilliseconds delay: Int64) {
        let held = Confined((desk: self, job: job), to: loop)
        let due = loop.now.advanced(by: .milliseconds(delay))
        let timer = ThreadRunLoop.Timer(at: due) { _ in held.value.desk.release(held.value.job) }
        job.timer = timer
        loop.add(timer)
    }

    /// Lets a job go that was held for its time or to be fired.
    private func release(_ job: LiveJob) {
        job.timer = nil
        stopHolding(job)
        apply(.release, to: job.id)
        submit(job)
    }

    func stopHolding(_ job: LiveJob) {
        guard let count = heldCounts[job.lane.name] else { return }
        heldCounts[job.lane.name] = count == 1 ? nil : count - 1
    }

    func noteStart(_ id: JobID, on thread: String, at time: Int64) {
        guard store.state(of: id) == .waiting else { return }
        apply(.start(worker: thread), to: id, at: time)
    }

    func apply(
        _ event: JobEvent, to id: JobID, at time: Int64 = WallClock.unixMilliseconds()
    ) {
        do throws(JobStoreError) {
            try store.apply(event, to: id, at: time)
        } catch {
            // The desk asks for nothing that a job's state does not allow: this is a fault in here.
            log.error("job \(id): \(error)")
        }
    }

    private func keep(
        _ request: Request, hold: Bool, at now: Int64
    ) throws(WireError) -> JobID {
        do throws(JobStoreError) {
            return try store.accept(
                JobRequest(
                    thread: request.thread, selector: request.selector, payload: request.payload,
                    priority: request.priority,
                    schedule: hold ? .buffered : request.dueAt.map { .at($0) } ?? .now,
                    timeoutMilliseconds: request.timeoutMilliseconds.map { Int64($0) }), at: now)
        } catch {
            throw WireError(.busy, "\(error)")
        }
    }

}

extension Priority {
    /// The same, as worker threads call it.
    var submitPriority: SubmitPriority {
        switch self {
        case .high: .high
        case .normal: .normal
        case .low: .low
        }
    }
}

/// A name as it goes into an error: in quotes, and not longer than it helps.
func quoted(_ name: String) -> String {
    // Scalars, not characters: one character may have any number of them.
    let shown = name.unicodeScalars.prefix(64)
    return "'\(String(shown))\(shown.endIndex == name.endIndex ? "" : "…")'"
}
