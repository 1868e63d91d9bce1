// The ends of attempts that workers hold. A worker may report an end again, and is answered once
// the end is kept.

internal import Jobs
internal import Kernel
internal import RESP
internal import Structures
internal import Synchronization

/// How a worker says that an attempt has ended.
enum RemoteEnd: Hashable {
    case done([UInt8])
    case failed(reason: String, RetryWish)
    case givenBack(afterMilliseconds: Int)

    /// Whether it is a result.
    var isDone: Bool { if case .done = self { true } else { false } }
}

/// The ends of deliveries that are over, for workers that repeat a command.
struct EndedDeliveries {
    /// So many are remembered.
    static let countMax = 16_384

    /// Of an end, its hash stands for all of it: a result may be large.
    private var ends: [JobHolder.Token: (id: JobID, end: Int?)] = [:]
    private var order = FIFO<JobHolder.Token>()

    mutating func append(_ token: JobHolder.Token, of id: JobID, _ end: RemoteEnd?) {
        if order.count == Self.countMax, let first = order.popFirst() { ends[first] = nil }
        ends[token] = (id, end?.hashValue)
        order.append(token)
    }

    /// Whether a delivery has ended just so.
    func contains(_ token: JobHolder.Token, of id: JobID, _ end: RemoteEnd) -> Bool {
        ends[token].map { $0.id == id && $0.end == end.hashValue } ?? false
    }
}

extension WorkerExchange {
    /// An attempt has ended, by its worker's word or without it.
    func noteEnd(of completion: Completion) {
        guard let delivery = deliveries[completion.job] else { return }
        close(delivery, as: completion)
    }

    /// A delivery is over: its thread goes on, and its worker is answered.
    func close(_ delivery: Delivery, as completion: Completion?) {
        // A job that was given up in the moment of its DONE has ended otherwise.
        let isDone = completion?.outcome.state == .done
        let end = completion != nil && delivery.end?.isDone == isDone ? delivery.end : nil
        // An end with a result is marked itself.
        if !isDone { noteHolder(delivery.remote.context, nil) }
        leave(delivery, end)
        // Before the answer: a worker that asks for the next job finds it.
        goOn(after: delivery.remote)
        guard !delivery.waiting.isEmpty else { return }
        guard end != nil else {
            for (reply, _) in delivery.waiting {
                door?.answer(reply, refuse(delivery.remote.id).reply)
            }
            return
        }
        let waiting = delivery.waiting
        // A small result of a durable job is marked where a crash leaves it.
        if !delivery.remote.isStored || delivery.remote.isEndMarked.load(ordering: .acquiring) {
            return answer(waiting, nil)
        }
        confirm { [weak self] fault in self?.answer(waiting, fault) }
    }

    func answer(
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

    /// A delivery is over.
    private func leave(_ delivery: Delivery, _ end: RemoteEnd?, isOver: Bool = true) {
        deliveries[delivery.remote.id] = nil
        if isOver { lobby.end(delivery.remote.context) }
        endLease(of: delivery)
        endLimit(of: delivery)
        ended.append(delivery.token, of: delivery.remote.id, end)
        forget(delivery.worker)
        passOn(delivery.remote.member.name)
    }

    /// A delivery is over, and its job waits again.
    func letGo(of delivery: Delivery, _ end: RemoteEnd?) {
        noteHolder(delivery.remote.context, nil)
        leave(delivery, end, isOver: false)
    }

    /// Ends an attempt, by its worker's word; answers when that is kept.
    func end(
        _ id: JobID, _ token: JobHolder.Token?, _ end: RemoteEnd, then next: TakeRequest?,
        _ reply: ReplyToken, from process: (id: Int, userID: UInt32)?
    ) throws(WireError) {
        // Its connection closes in a moment; a worker says it again after the restart.
        if hasLeft { return }
        // A refused command has changed nothing, so the TAKE is checked first.
        if let next, !isClosed { try check(next, of: worker(reply.client, process)) }
        if let held = inherited[id], held.holder.token == token {
            return try self.end(held, end, then: next, reply)
        }
        guard let delivery = deliveries[id], delivery.token == token else {
            guard let token, ended.contains(token, of: id, end) else { throw refuse(id) }
            // The end may not be committed yet: the first answer was lost, or it was BUSY.
            return confirm { [weak self] fault in self?.answer([(reply, next)], fault) }
        }
        if let said = delivery.end {
            guard said == end else { throw refuse(id) }
            delivery.waiting.append((reply, next))
            return
        }
        delivery.waiting.append((reply, next))
        carryOut(end, of: delivery)
    }

    /// Ends an attempt as its worker has said.
    func carryOut(_ end: RemoteEnd, of delivery: Delivery) {
        delivery.end = end
        switch end {
        case .done(let result): finish(delivery, .done(result), .asPlanned)
        case .failed(let reason, let retry):
            finish(delivery, outcome(of: delivery.remote.context, reason), retry)
        case .givenBack(let milliseconds): giveBack(delivery, afterMilliseconds: milliseconds)
        }
    }

    /// Ends an attempt; its thread goes on once the scheduler knows.
    func finish(_ delivery: Delivery, _ outcome: Outcome, _ retry: RetryWish) {
        let remote = delivery.remote
        if let completion = remote.end(outcome, retry) {
            noteCompletion(completion)
        } else {
            close(delivery, as: nil)
        }
    }

    /// How a failed attempt has ended: one that was asked to stop has obeyed.
    func outcome(of context: JobContext, _ reason: String) -> Outcome {
        if context.isCancelRequested { return .cancelled }
        return context.isOverTime ? .timedOut : .failed(reason: reason)
    }

    private func giveBack(_ delivery: Delivery, afterMilliseconds milliseconds: Int) {
        let remote = delivery.remote
        if remote.context.isCancelled {
            return finish(delivery, outcome(of: remote.context, "it was given back"), .asPlanned)
        }
        letGo(of: delivery, delivery.end)
        answer(delivery.waiting, nil)
        rest(remote.id, milliseconds, isAsked: true)
        guard remote.putBack() else { return goOn(after: remote) }
        noteGivenBack(remote.id)
        isReady(remote)
    }

    /// Notes the progress of an attempt.
    ///
    /// - Returns: whether the worker is to stop.
    func report(
        _ id: JobID, _ token: JobHolder.Token?, _ progress: JobProgress?
    ) throws(WireError) -> Bool {
        if let held = inherited[id], held.holder.token == token, held.end == nil {
            // Without its thread, it goes on too: that may be there before the worker ends it.
            return attempt(id)?.isCancelled == true
        }
        guard let delivery = deliveries[id], delivery.token == token, delivery.end == nil
        else { throw refuse(id) }
        if let progress { delivery.remote.context.note(progress) }
        return delivery.remote.context.isCancelled
    }

    func refuse(_ id: JobID) -> WireError {
        staleCount += 1
        return WireError(
            .stale,
            "job \(id) is not held under this token: it has ended, or another worker has it")
    }
}
