// The exchange matches threads that serve a job for a worker with connections that wait for one. It
// takes the job that was ready first, and gives it to the worker that has waited longest.
//
// A delivery is known by a token. The open connection is its lease: while that is open, no other
// worker gets the job. When it has closed and its process has ended, the job waits again at its
// place, otherwise after the selector's `lease`.

internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops
internal import Synchronization
internal import WorkerThreads

/// The connections, as the exchange uses them.
protocol WorkerDoor: AnyObject {
    func answer(_ reply: ReplyToken, _ value: RESPValue)
    /// Whether the answer is the next one of its connection, and all earlier ones are written.
    func isNext(_ reply: ReplyToken) -> Bool
    func push(_ value: RESPValue, about subject: UInt64, to client: UInt64)
    func isGone(_ client: UInt64) -> Bool
}

/// A TAKE, as it was asked for.
struct TakeRequest {
    /// Gets jobs of its threads and selectors only.
    let user: User
    var name: String?
    var patience: Duration = .zero
    var wantsStops = false
    /// Whether the answer has the place of the job in its trace.
    var wantsTrace = false
    /// The thread that it takes for itself.
    var own: WorkerGroup.Member?
    var selectors: [String] = []
}

/// Jobs for workers in other processes, and those workers.
///
/// Confined to the driver's thread.
final class WorkerExchange {
    /// A connection that has asked for jobs.
    final class Worker {
        /// The number of its connection; nil for one of an earlier run.
        let client: UInt64?
        let process: JobHolder.Process?
        let since: Int64
        fileprivate(set) var name: String?
        /// The user of its latest TAKE; nil for one of an earlier run.
        fileprivate(set) var user: User?
        fileprivate(set) var selectors: [String] = []
        fileprivate(set) var wantsStops = false
        fileprivate(set) var wantsTrace = false
        /// The thread that its latest TAKE asks for.
        fileprivate(set) var ownThread: String?

        fileprivate init(_ client: UInt64, _ process: JobHolder.Process?, since: Int64) {
            self.client = client
            self.process = process
            self.since = since
        }

        /// A worker of an earlier run.
        init(_ holder: JobHolder) {
            client = nil
            process = holder.process
            since = holder.since
            name = holder.name
        }
    }

    /// A TAKE that waits.
    final class Taker {
        let worker: Worker
        let reply: ReplyToken
        let request: TakeRequest
        var timeout: ThreadRunLoop.Timeout?

        init(_ worker: Worker, _ reply: ReplyToken, _ request: TakeRequest) {
            self.worker = worker
            self.reply = reply
            self.request = request
        }

        /// Whether its user may touch a job.
        func mayTouch(_ remote: RemoteJob) -> Bool {
            mayTouch(jobsOf: remote.member, remote.context.selector)
        }

        /// Whether its user may touch the jobs of a thread and selector.
        func mayTouch(jobsOf member: WorkerGroup.Member, _ selector: String) -> Bool {
            let scope = request.user.scope
            return scope.isAll || scope.has(thread: member.name, selector: selector)
        }
    }

    /// A job in a worker's hands.
    final class Delivery {
        let remote: RemoteJob
        /// Its holder as the store records it.
        var holder: JobHolder
        var worker: Worker
        /// The end that the worker has reported, until it is kept.
        var end: RemoteEnd?
        var waiting: [(reply: ReplyToken, take: TakeRequest?)] = []
        /// Rings when it is over its time limit.
        var limit: ThreadRunLoop.Timeout?
        /// Set while its connection is closed.
        var lease: WorkerLease?

        init(_ remote: RemoteJob, _ holder: JobHolder, to worker: Worker) {
            self.remote = remote
            self.holder = holder
            self.worker = worker
        }

        /// The secret by which the worker ends it.
        var token: JobHolder.Token { holder.token }
    }

    /// The time that a TAKE waits at least: a job that was accepted before it is with its thread by
    /// then, and the earlier answers of its connection are written.
    static let patienceMin = Duration.milliseconds(10)
    /// The time between two looks at a store that is not trusted.
    static let trustPause = Duration.milliseconds(20)
    /// The pause in milliseconds after a GIVEBACK without AFTER.
    static let usualPause = 100
    /// The pause in milliseconds of a pool's job that no worker could have.
    private static let pauseAfterReturn = 5
    static let goingDown = WireError(.shuttingDown, "the daemon is going down")

    let loop: ThreadRunLoop
    let clocks: Clocks
    let log: Log
    /// The service; nil once the driver is closed.
    ///
    /// Not weak: a weak reference makes each retain of its object twice as dear.
    var door: (any WorkerDoor)?
    /// Calls its argument once all earlier changes are kept, or can't be.
    var confirm: (@escaping (StoreFault?) -> Void) -> Void = { $0(nil) }
    /// Called for a job that waits again: its attempt does not count.
    var noteGivenBack: (JobID) -> Void = { _ in }
    /// Called before an attempt is over that a worker of an earlier run has held, and that no
    /// thread has begun.
    var noteStart: (JobID) -> Void = { _ in }
    /// Called for a job whose worker has vanished: it waits again, and has one attempt more.
    var noteVanished: (JobID) -> Void = { _ in }
    /// Called for a job of an earlier run that is not in memory, and that its worker holds no more.
    var endHold: (Job) -> Void = { _ in }
    /// Has the store keep which worker holds a job.
    var noteHolder: (JobContext, JobHolder?) -> Void = { _, _ in }
    /// Called for an attempt that a worker has ended.
    var noteCompletion: (Completion) -> Void = { _ in }
    /// Called for a job that has expired before a worker took it.
    var noteExpired: (JobID) -> Void = { _ in }
    /// Whether a job that is kept may begin.
    var mayBegin: (JobContext) -> Bool = { _ in true }
    /// Looks whether they may again, while jobs wait for that.
    var trustTimeout: ThreadRunLoop.Timeout?
    /// Whether a job has neither ended nor been left to the store, and its threads take jobs.
    var mayBeServed: (JobID) -> Bool = { _ in true }
    /// Whether a job has neither ended nor been left to the store.
    var isActive: (JobID) -> Bool = { _ in true }
    /// The attempt of a job that is offered to its threads.
    var attempt: (JobID) -> JobContext? = { _ in nil }
    /// Whether the scheduler's effects are being carried out: jobs may be retracted by one of them.
    var isCarryingOut: () -> Bool = { false }
    /// Offers a job again whose selector is for workers no longer; returns whether it has.
    var isOfferedAgain: (JobContext) -> Bool = { _ in false }
    /// Called for an attempt that no worker will take: its thread was stopped, or the daemon goes
    /// down.
    var leave: (JobContext) -> Void = { _ in }

    /// Jobs that wait for a worker, in the order in which they were ready.
    var ready: [RemoteJob] = []
    /// The jobs that no worker gets for a while.
    var resting: [JobID: Rest] = [:]
    /// Whether a TAKE has got no job because its connection has earlier answers to be written.
    var hasUnanswered = false
    /// TAKEs that wait, in the order in which they came.
    var takers: [Taker] = []
    var workers: [UInt64: Worker] = [:]
    /// The owners of threads, by the names of the threads.
    var owners: [String: Worker] = [:]
    /// The jobs in workers' hands.
    var deliveries: [JobID: Delivery] {
        _read { yield unsafe uncheckedDeliveries }
        _modify { yield unsafe &uncheckedDeliveries }
    }
    // SAFETY: confined to the loop's thread; a change of it calls nothing that looks at it. Each
    // end of a job asks for its count.
    @exclusivity(unchecked) private var uncheckedDeliveries: [JobID: Delivery] = [:]
    /// Inherited jobs: workers of an earlier run hold them, and no thread serves them yet.
    var inherited: [JobID: Inherited] = [:]
    var ended = EndedDeliveries()
    /// Turns of threads that serve no job for the moment.
    var idleTurns = IdleTurns()
    /// Jobs of pools that wait for a worker.
    let lobby: PoolLobby
    var isClosed = false
    /// Whether the jobs of workers were left to them, since the daemon ends.
    var hasLeft = false
    var staleCount = 0
    var deliveredCount = 0
    var vanishedCount = 0

    init(loop: ThreadRunLoop, clocks: Clocks, log: Log) {
        self.loop = loop
        self.clocks = clocks
        self.log = log
        lobby = PoolLobby(loop: loop)
        lobby.takerCount = { [unowned self] selector in
            takers.count { $0.request.selectors.contains(selector) }
        }
        lobby.isResting = { [unowned self] id in resting[id] != nil }
        lobby.isInherited = { [unowned self] id in inherited[id] != nil }
    }

    /// The number of jobs in workers' hands.
    var heldCount: Int { deliveries.count }

    /// The jobs of a worker, in the order of their numbers.
    func held(by worker: Worker) -> [Delivery] {
        deliveries.values.filter { $0.worker === worker }.sorted { $0.remote.id < $1.remote.id }
    }

    /// The number of connected workers whose latest TAKE names a selector.
    func count(of selector: String) -> Int {
        workers.values.count { worker in
            worker.selectors.contains(selector)
                && worker.client.map { door?.isGone($0) == false } == true
        }
    }

    /// The job for which a thread waits for a worker.
    func ready(on member: WorkerGroup.Member) -> RemoteJob? {
        ready.first { $0.member === member }
    }

    /// The job of a number, if it waits for a worker.
    func ready(_ id: JobID) -> RemoteJob? { ready.first { $0.id == id } }

    /// The figures of INFO.
    var figures: [(String, String)] {
        [
            ("connected_workers", "\(workers.count)"),
            ("waiting_takes", "\(takers.count)"),
            ("jobs_awaiting_workers", "\(ready.count)"),
            ("jobs_held_by_workers", "\(heldCount + inherited.count)"),
            ("total_deliveries", "\(deliveredCount)"),
            ("total_vanished_workers", "\(vanishedCount)"),
            ("total_stale_tokens", "\(staleCount)"),
        ]
    }

    // MARK: - Reports of threads

    func take(_ report: RemoteReport) {
        switch report {
        case .ready(let remote): isReady(remote)
        case .stop(let remote): stop(remote)
        case .left(let remote): left(remote)
        case .wanted(let turn): if turn.isIdle { goOn(turn) }
        }
    }

    /// A thread serves a job that waits for a worker, for the first time or once more.
    func isReady(_ remote: RemoteJob) {
        // Its worker may have other jobs from now on.
        if goOn(with: remote) { return match() }
        lobby.arrived(remote.context)
        // A worker had it, or it was on its way here, when a reload made its selector a program.
        if isOfferedAgain(remote.context) { return }
        ready.append(remote)
        match(remote)
        leaveStopped()
        sendBack(remote)
    }

    /// Has a pool's member let go of a job that no worker takes now.
    private func sendBack(_ remote: RemoteJob) {
        guard lobby.mayComeBack(remote.context),
            let index = ready.firstIndex(where: { $0 === remote })
        else { return }
        ready.remove(at: index)
        remote.sendBack()
    }

    func description(of delivery: Delivery) -> RESPValue {
        let job = delivery.remote.context
        let limit = job.run?.deadline ?? .distantFuture
        let left =
            limit == .distantFuture
            ? RESPValue.null
            : .integer(max(0, Int((limit.nanoseconds - loop.now.nanoseconds) / 1_000_000)))
        let trace: [RESPValue] =
            delivery.worker.wantsTrace ? [job.options.trace.map { .bulk($0) } ?? .null] : []
        return .array(
            [
                .integer(Int(job.id)), text(delivery.token.description),
                text(delivery.remote.member.name),
                text(job.selector), .integer(job.attempt), left,
                job.options.value.label.map { .bulk($0) } ?? .null,
            ] + trace + [.bulk(job.payload)])
    }

    private func left(_ remote: RemoteJob) {
        if remote.isSentBack, !remote.context.isWithdrawn {
            // Workers ask for others of its kind, and may not have it: not at once again.
            if lobby.takerCount(remote.context.selector) > 0, resting[remote.id] == nil {
                rest(remote.id, Self.pauseAfterReturn, isAsked: false)
            }
            lobby.cameBack(remote.context)
            return leaveStopped()
        }
        lobby.end(remote.context)
        ready.removeAll { $0 === remote }
        forgetInherited(remote.id)
        guard let delivery = deliveries[remote.id], delivery.remote === remote else { return }
        close(delivery, as: nil)
    }

    func stop(_ remote: RemoteJob) {
        guard let delivery = deliveries[remote.id], delivery.remote === remote,
            delivery.worker.wantsStops, delivery.end == nil, let client = delivery.worker.client
        else { return }
        let why = remote.context.isCancelRequested ? "cancelled" : "timeout"
        let id = remote.context.id
        door?.push(
            .push([text("stop"), .integer(Int(id)), text(delivery.token.description), text(why)]),
            about: id,
            to: client)
    }

    // MARK: - Workers

    /// Gives a connection the next job of its selectors, now or when there is one.
    func take(
        _ request: TakeRequest, _ reply: ReplyToken, from process: (id: Int, userID: UInt32)?
    ) throws(WireError) {
        if isClosed { throw Self.goingDown }
        let worker = worker(reply.client, process)
        try check(request, of: worker)
        worker.name = request.name
        worker.user = request.user
        worker.selectors = request.selectors
        worker.wantsStops = request.wantsStops
        worker.wantsTrace = request.wantsTrace
        worker.ownThread = request.own?.name
        let taker = Taker(worker, reply, request)
        if giveAgain(to: taker) { return }
        own(request.own?.name, worker)
        serve(taker)
    }

    /// The worker of a connection.
    func worker(_ client: UInt64, _ peer: (id: Int, userID: UInt32)?) -> Worker {
        if let worker = workers[client] { return worker }
        let process = peer.map {
            JobHolder.Process(
                id: $0.id, userID: $0.userID, birth: RunningProcess.birth(of: $0.id) ?? 0,
                home: .own)
        }
        let worker = Worker(client, process, since: clocks.wall.unixMilliseconds())
        workers[client] = worker
        return worker
    }

    /// Checks whether a connection may send a TAKE.
    func check(_ request: TakeRequest, of worker: Worker) throws(WireError) {
        if takers.contains(where: { $0.worker === worker }) {
            throw WireError(.err, "a TAKE of this connection waits already: one at a time")
        }
        // A connection keeps a name that it has.
        guard let name = request.name, worker.name != name,
            let other = workersThatHold.first(where: { $0.name == name && $0 !== worker })
        else { return }
        if let client = other.client, door?.isGone(client) == false {
            throw WireError(.inUse, "the name \(name) belongs to client \(client), still connected")
        }
        let isOfSameUser = other.user.map { $0.name == request.user.name } ?? true
        guard isOfSameUser, JobHolder.Process.mayBeOfOneUser(other.process, worker.process) else {
            throw WireError(
                .inUse, "the name \(name) belongs to another user's worker, which holds a job")
        }
    }

    /// Connected workers, and former ones that hold a job.
    var workersThatHold: [Worker] {
        var all = Array(workers.values)
        for delivery in deliveries.values where delivery.worker.client == nil {
            all.append(delivery.worker)
        }
        return all
    }

    /// Gives a worker that has connected again the job that its name holds.
    private func giveAgain(to taker: Taker) -> Bool {
        guard let name = taker.request.name else { return false }
        let held = deliveries.values.filter {
            $0.worker.name == name && $0.worker !== taker.worker && $0.end == nil
                && taker.mayTouch($0.remote)
        }
        guard let delivery = held.min(by: { $0.remote.id < $1.remote.id }) else { return false }
        give(delivery, to: taker)
        return true
    }

    /// Gives a job once more to the worker that holds it, which has connected again.
    func give(_ delivery: Delivery, to taker: Taker) {
        endLease(of: delivery)
        let former = delivery.worker
        delivery.worker = taker.worker
        delivery.holder = Self.holder(taker.worker, delivery.holder.token, since: former.since)
        noteHolder(delivery.remote.context, delivery.holder)
        if let own = taker.request.own?.name, owners[own] == nil || owners[own] === former {
            owners[own] = taker.worker
        }
        forget(former)
        door?.answer(taker.reply, description(of: delivery))
        // It was asked to stop while its connection was closed.
        if delivery.remote.context.isCancelled { stop(delivery.remote) }
    }

    static func holder(
        _ worker: Worker, _ token: JobHolder.Token, since: Int64
    ) -> JobHolder {
        JobHolder(token: token, process: worker.process, since: since, name: worker.name)
    }

    /// Gives a connection its next job, once the end of its last one is kept.
    func takeNext(_ request: TakeRequest, _ reply: ReplyToken) {
        do throws(WireError) {
            let process = workers[reply.client]?.process
            try take(request, reply, from: process.map { ($0.id, $0.userID) })
        } catch {
            door?.answer(reply, Self.answerAfterEnd(error.reply))
        }
    }

    /// The answer to a DONE that is kept, if the TAKE behind it is answered so.
    ///
    /// A refusal would say that nothing has ended, so there is no job; the next TAKE gets it.
    static func answerAfterEnd(_ answer: RESPValue) -> RESPValue {
        guard let word = answer.errorWord, !wordsAfterEnd.contains(word) else { return answer }
        return .null
    }

    /// The errors of a TAKE behind a DONE that is kept.
    private static let wordsAfterEnd = [WireError.Word.shuttingDown, .unblocked].map(\.rawValue)
}
