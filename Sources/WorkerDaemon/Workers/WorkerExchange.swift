// The exchange matches threads that hold a job for a worker with connections that wait for one. It
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
    var name: String?
    var patience: Duration = .zero
    var wantsStops = false
    var selectors: [String] = []
}

/// How a worker says that an attempt has ended.
enum RemoteEnd: Hashable {
    case done([UInt8])
    case failed(reason: String, RetryWish)
    case givenBack(afterMilliseconds: Int)

    /// Whether it is a result.
    var isDone: Bool { if case .done = self { true } else { false } }
}

/// Jobs for workers in other processes, and those workers.
///
/// Confined to the driver's thread.
final class WorkerExchange {
    /// A connection that has asked for jobs.
    final class Worker {
        let client: UInt64
        let process: (id: Int, userID: UInt32)?
        let since: Int64
        fileprivate(set) var name: String?
        fileprivate(set) var selectors: [String] = []
        fileprivate(set) var wantsStops = false

        fileprivate init(_ client: UInt64, _ process: (id: Int, userID: UInt32)?, since: Int64) {
            self.client = client
            self.process = process
            self.since = since
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
    }

    /// A job in a worker's hands.
    final class Delivery {
        let remote: RemoteJob
        let token: String
        var worker: Worker
        /// The TAKE that gets the job once it has begun; nil when it is answered.
        var taker: Taker?
        /// The end that the worker has reported, until it is kept.
        var end: RemoteEnd?
        var waiting: [(reply: ReplyToken, take: TakeRequest?)] = []
        /// Set while its connection is closed.
        var lease: ThreadRunLoop.Timeout?
        var processEnd: ProcessEnd?

        fileprivate init(_ remote: RemoteJob, _ token: String, _ taker: Taker) {
            self.remote = remote
            self.token = token
            self.taker = taker
            worker = taker.worker
        }
    }

    /// The number of ended deliveries that are remembered, for workers that repeat a command.
    private static let endedCountMax = 16_384
    /// The time that a TAKE waits at least: a job that was accepted before it is with its thread by
    /// then, and the earlier answers of its connection are written.
    private static let patienceMin = Duration.milliseconds(10)
    /// The pause in milliseconds after a GIVEBACK without AFTER.
    static let usualPause = 100
    static let goingDown = WireError(.shuttingDown, "the daemon is going down")

    let loop: ThreadRunLoop
    private let clocks: Clocks
    let log: Log
    /// The service; nil once the driver is closed.
    ///
    /// Not weak: a weak reference makes each retain of its object twice as dear.
    var door: (any WorkerDoor)?
    /// Calls its argument once all earlier changes are kept, or can't be.
    var confirm: (@escaping (StoreFault?) -> Void) -> Void = { $0(nil) }
    /// Called for a job that waits again: its attempt does not count.
    var noteGivenBack: (JobID) -> Void = { _ in }
    /// Called for a job that no worker will take: the daemon goes down.
    var leave: (JobID) -> Void = { _ in }

    /// Jobs that wait for a worker, in the order in which they were ready.
    var ready: [RemoteJob] = []
    /// When jobs that were given back may be taken again.
    var restingUntil: [JobID: Instant] = [:]
    /// Whether a TAKE has got no job because its connection has earlier answers to be written.
    private(set) var hasUnanswered = false
    /// TAKEs that wait, in the order in which they came.
    var takers: [Taker] = []
    var workers: [UInt64: Worker] = [:]
    var deliveries: [JobID: Delivery] = [:]
    /// How deliveries have ended, by their tokens, and the order in which they did.
    private var ended: [String: (id: JobID, end: RemoteEnd?)] = [:]
    private var endedOrder: [String] = []
    var isClosed = false
    private(set) var staleCount = 0
    private(set) var deliveredCount = 0
    var vanishedCount = 0

    init(loop: ThreadRunLoop, clocks: Clocks, log: Log) {
        self.loop = loop
        self.clocks = clocks
        self.log = log
    }

    /// The number of jobs in workers' hands.
    var heldCount: Int { deliveries.count }

    /// The jobs of a worker, in the order of their numbers.
    func held(by worker: Worker) -> [Delivery] {
        deliveries.values.filter { $0.worker === worker }.sorted { $0.remote.id < $1.remote.id }
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
            ("jobs_held_by_workers", "\(heldCount)"),
            ("total_deliveries", "\(deliveredCount)"),
            ("total_vanished_workers", "\(vanishedCount)"),
            ("total_stale_tokens", "\(staleCount)"),
        ]
    }

    // MARK: - Reports of threads

    func take(_ report: RemoteReport) {
        switch report {
        case .ready(let remote, let isAgain): isReady(remote, isAgain: isAgain)
        case .begun(let remote): hasBegun(remote)
        case .stop(let remote): stop(remote)
        case .left(let remote): hasLeft(remote)
        }
    }

    private func isReady(_ remote: RemoteJob, isAgain: Bool) {
        if isAgain { noteGivenBack(remote.id) }
        ready.append(remote)
        match(remote)
        leaveStopped()
    }

    private func hasBegun(_ remote: RemoteJob) {
        guard let delivery = deliveries[remote.id], let taker = delivery.taker.take() else {
            return remote.giveBack()
        }
        guard let door, !door.isGone(taker.reply.client) else {
            // It has not got the job.
            deliveries[remote.id] = nil
            return remote.giveBack()
        }
        deliveredCount += 1
        door.answer(taker.reply, description(of: delivery))
    }

    private func description(of delivery: Delivery) -> RESPValue {
        let job = delivery.remote.context
        let limit = job.run?.deadline ?? .distantFuture
        let left =
            limit == .distantFuture
            ? RESPValue.null
            : .integer(max(0, Int((limit.nanoseconds - loop.now.nanoseconds) / 1_000_000)))
        return .array([
            .integer(Int(job.id)), text(delivery.token), text(delivery.remote.member.name),
            text(job.selector), .integer(job.attempt), left,
            job.options.value.label.map { .bulk($0) } ?? .null, .bulk(job.payload),
        ])
    }

    private func hasLeft(_ remote: RemoteJob) {
        ready.removeAll { $0 === remote }
        guard let delivery = deliveries[remote.id], delivery.remote === remote else { return }
        if let taker = delivery.taker.take() {
            // It was withdrawn in the moment in which it was taken.
            deliveries[remote.id] = nil
            serve(taker)
        } else {
            close(delivery, as: nil)
        }
    }

    private func stop(_ remote: RemoteJob) {
        guard let delivery = deliveries[remote.id], delivery.remote === remote,
            delivery.worker.wantsStops, delivery.end == nil
        else { return }
        let why = remote.context.isCancelRequested ? "cancelled" : "timeout"
        let id = remote.context.id
        door?.push(
            .push([text("stop"), .integer(Int(id)), text(delivery.token), text(why)]), about: id,
            to: delivery.worker.client)
    }

    /// An attempt has ended, by its worker's word or without it.
    func noteEnd(of completion: Completion) {
        guard let delivery = deliveries[completion.job] else { return }
        // Its thread was replaced, and the former one is to go on.
        if delivery.end == nil { delivery.remote.end(completion.outcome, .never) }
        close(delivery, as: completion)
    }

    private func close(_ delivery: Delivery, as completion: Completion?) {
        deliveries[delivery.remote.id] = nil
        endLease(of: delivery)
        // A job that was given up in the moment of its DONE has ended otherwise.
        let isDone = completion?.outcome.state == .done
        let end = completion != nil && delivery.end?.isDone == isDone ? delivery.end : nil
        remember(delivery, end)
        defer { forget(delivery.worker) }
        guard !delivery.waiting.isEmpty else { return }
        guard end != nil else {
            for (reply, _) in delivery.waiting {
                door?.answer(reply, refuse(delivery.remote.id).reply)
            }
            return
        }
        let waiting = delivery.waiting
        // The end of a durable job that is done is marked where a crash leaves it.
        if !delivery.remote.isStored || isDone {
            return answer(waiting, nil)
        }
        confirm { [weak self] fault in self?.answer(waiting, fault) }
    }

    private func answer(
        _ waiting: [(reply: ReplyToken, take: TakeRequest?)], _ fault: StoreFault?
    ) {
        for (reply, next) in waiting {
            if let fault {
                door?.answer(reply, WireError(JobError.storeFailed(fault)).reply)
            } else if let next {
                takeNext(next, reply)
            } else {
                door?.answer(reply, .simpleString("OK"))
            }
        }
    }

    func remember(_ delivery: Delivery, _ end: RemoteEnd?) {
        ended[delivery.token] = (delivery.remote.id, end)
        endedOrder.append(delivery.token)
        guard endedOrder.count > 2 * Self.endedCountMax else { return }
        for token in endedOrder.prefix(Self.endedCountMax) { ended[token] = nil }
        endedOrder.removeFirst(Self.endedCountMax)
    }

    // MARK: - Workers

    /// Gives a connection the next job of its selectors, now or when there is one.
    func take(
        _ request: TakeRequest, _ reply: ReplyToken, from process: (id: Int, userID: UInt32)?
    ) throws(WireError) {
        if isClosed { throw Self.goingDown }
        try check(request, of: reply.client, process)
        let worker =
            workers[reply.client]
            ?? Worker(reply.client, process, since: clocks.wall.unixMilliseconds())
        worker.name = request.name
        worker.selectors = request.selectors
        worker.wantsStops = request.wantsStops
        workers[reply.client] = worker
        let taker = Taker(worker, reply, request)
        if !giveAgain(to: taker) { serve(taker) }
    }

    /// Checks whether a connection may send a TAKE.
    private func check(
        _ request: TakeRequest, of client: UInt64, _ process: (id: Int, userID: UInt32)?
    ) throws(WireError) {
        if takers.contains(where: { $0.worker.client == client }) {
            throw WireError(.err, "a TAKE of this connection waits already: one at a time")
        }
        guard let name = request.name,
            let other = workers.values.first(where: { $0.name == name && $0.client != client })
        else { return }
        if door?.isGone(other.client) == false {
            throw WireError(
                .inUse, "the name \(name) belongs to client \(other.client), still connected")
        }
        if other.process?.id != process?.id, other.process?.userID != process?.userID {
            throw WireError(
                .inUse, "the name \(name) belongs to another user's worker, which holds a job")
        }
    }

    /// Gives a worker that has connected again the job that its name holds.
    private func giveAgain(to taker: Taker) -> Bool {
        guard let name = taker.request.name else { return false }
        let held = deliveries.values.filter {
            $0.worker.name == name && $0.worker !== taker.worker && $0.taker == nil && $0.end == nil
        }
        guard let delivery = held.min(by: { $0.remote.id < $1.remote.id }) else { return false }
        endLease(of: delivery)
        let former = delivery.worker
        delivery.worker = taker.worker
        forget(former)
        door?.answer(taker.reply, description(of: delivery))
        // It was asked to stop while its connection was closed.
        if delivery.remote.context.isCancelled { stop(delivery.remote) }
        return true
    }

    private func takeNext(_ request: TakeRequest, _ reply: ReplyToken) {
        do throws(WireError) {
            try take(request, reply, from: workers[reply.client]?.process)
        } catch {
            door?.answer(reply, error.reply)
        }
    }

    private func serve(_ taker: Taker) {
        if isClosed {
            door?.answer(taker.reply, Self.goingDown.reply)
            return
        }
        takers.append(taker)
        if let remote = ready.first(where: { fits($0, taker) }) {
            return deliver(remote, to: taker)
        }
        guard taker.timeout == nil else { return }
        let held = Confined((exchange: self, taker: taker), to: loop)
        let due = loop.now.advanced(by: max(taker.request.patience, Self.patienceMin))
        taker.timeout = loop.schedule(at: due) {
            let (exchange, taker) = held.value
            taker.timeout = nil
            exchange.match()
            exchange.giveUp(taker)
        }
    }

    private func giveUp(_ taker: Taker) {
        guard let index = takers.firstIndex(where: { $0 === taker }) else { return }
        takers.remove(at: index)
        door?.answer(taker.reply, .null)
    }

    /// Brings jobs and workers together: a thread goes on, say, or a connection has been answered.
    ///
    /// - Complexity: O(jobs that wait × TAKEs that wait); a thread has one job that waits.
    func match() {
        hasUnanswered = false
        for remote in ready where !takers.isEmpty { match(remote) }
    }

    /// Gives a job that waits to the TAKE that has waited longest.
    private func match(_ remote: RemoteJob) {
        guard let taker = takers.first(where: { fits(remote, $0) }) else { return }
        deliver(remote, to: taker)
    }

    private func fits(_ remote: RemoteJob, _ taker: Taker) -> Bool {
        guard !remote.isPaused, restingUntil[remote.id] == nil,
            taker.request.selectors.contains(remote.context.selector)
        else {
            return false
        }
        if door?.isNext(taker.reply) == true { return true }
        hasUnanswered = true
        return false
    }

    private func deliver(_ remote: RemoteJob, to taker: Taker) {
        ready.removeAll { $0 === remote }
        takers.removeAll { $0 === taker }
        if let timeout = taker.timeout.take() { loop.cancel(timeout) }
        deliveries[remote.id] = Delivery(remote, Self.makeToken(), taker)
        remote.claim()
    }

    private static func makeToken() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Ends an attempt, by its worker's word; answers when that is kept.
    func end(
        _ id: JobID, _ token: String, _ end: RemoteEnd, then next: TakeRequest?,
        _ reply: ReplyToken
    ) throws(WireError) {
        guard let delivery = deliveries[id], delivery.token == token, delivery.taker == nil else {
            guard let former = ended[token], former.id == id, former.end == end else {
                throw refuse(id)
            }
            return answer([(reply, next)], nil)
        }
        // A refused command has changed nothing, so the TAKE is checked first.
        if let next, !isClosed {
            try check(next, of: reply.client, workers[reply.client]?.process)
        }
        if let said = delivery.end {
            guard said == end else { throw refuse(id) }
            delivery.waiting.append((reply, next))
            return
        }
        delivery.end = end
        delivery.waiting.append((reply, next))
        switch end {
        case .done(let result): delivery.remote.end(.done(result), .asPlanned)
        case .failed(let reason, let retry):
            delivery.remote.end(outcome(of: delivery.remote, reason), retry)
        case .givenBack(let milliseconds): giveBack(delivery, afterMilliseconds: milliseconds)
        }
    }

    /// How a failed attempt has ended: one that was asked to stop has obeyed.
    func outcome(of remote: RemoteJob, _ reason: String) -> Outcome {
        if remote.context.isCancelRequested { return .cancelled }
        return remote.context.isOverTime ? .timedOut : .failed(reason: reason)
    }

    private func giveBack(_ delivery: Delivery, afterMilliseconds milliseconds: Int) {
        let remote = delivery.remote
        if remote.context.isCancelled {
            return remote.end(outcome(of: remote, "it was given back"), .asPlanned)
        }
        deliveries[remote.id] = nil
        endLease(of: delivery)
        remember(delivery, delivery.end)
        answer(delivery.waiting, nil)
        forget(delivery.worker)
        rest(remote.id, milliseconds)
        remote.giveBack()
    }

    /// Notes the progress of an attempt.
    ///
    /// - Returns: whether the worker is to stop.
    func report(_ id: JobID, _ token: String, _ progress: JobProgress?) throws(WireError) -> Bool {
        guard let delivery = deliveries[id], delivery.token == token, delivery.taker == nil,
            delivery.end == nil
        else { throw refuse(id) }
        if let progress { delivery.remote.context.note(progress) }
        return delivery.remote.context.isCancelled
    }

    private func refuse(_ id: JobID) -> WireError {
        staleCount += 1
        return WireError(
            .stale,
            "job \(id) is not held under this token: it has ended, or another worker has it")
    }
}
