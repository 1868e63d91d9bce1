// Workers that leave, and the daemon's end. When a worker's connection closes, its jobs wait for
// the end of its process or of the lease, and then go back to their places.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Synchronization
internal import WorkerThreads

extension WorkerExchange {
    /// Begins the leases of a worker whose connection has closed.
    func sessionEnded(_ client: UInt64) {
        guard let worker = workers[client] else { return }
        for taker in takers where taker.worker === worker {
            if let timeout = taker.timeout.take() { loop.cancel(timeout) }
        }
        takers.removeAll { $0.worker === worker }
        for delivery in held(by: worker) where delivery.end == nil {
            beginLease(of: delivery, in: worker.process, delivery.remote.selector.lease)
        }
        forget(worker)
        for (thread, owner) in owners where owner === worker { passOn(thread) }
    }

    /// Forgets a worker whose connection has closed and that holds nothing.
    func forget(_ worker: Worker) {
        guard let client = worker.client, door?.isGone(client) ?? true else { return }
        if held(by: worker).isEmpty { workers[client] = nil }
    }

    /// Keeps a job for its worker until the worker's process has ended, and at most so long.
    ///
    /// - Parameter process: nil if its end can't be seen.
    func beginLease(
        of delivery: Delivery, in process: JobHolder.Process?, _ limit: Duration?
    ) {
        let confined = Confined((exchange: self, delivery: delivery), to: loop)
        delivery.lease = WorkerLease(of: process, for: limit, on: loop) {
            confined.value.exchange.vanished(confined.value.delivery)
        }
    }

    func endLease(of delivery: Delivery) { delivery.lease.take()?.end() }

    func endLimit(of delivery: Delivery) {
        if let limit = delivery.limit.take() { loop.cancel(limit) }
    }

    private func vanished(_ delivery: Delivery) {
        guard deliveries[delivery.remote.id] === delivery, delivery.end == nil else { return }
        endLease(of: delivery)
        let remote = delivery.remote
        vanishedCount += 1
        let count = remote.context.vanishedCount + 1
        let name = delivery.worker.name.map { " \($0)" } ?? ""
        log.warning("\(remote.context.title): its worker\(name) vanished, \(count) so far")
        if remote.context.isCancelled {
            finish(delivery, outcome(of: remote.context, "its worker vanished"), .asPlanned)
        } else if count >= remote.selector.lostCountMax {
            let times = count == 1 ? "once" : "\(count) times"
            finish(delivery, .failed(reason: "its worker vanished \(times)"), .never)
        } else {
            letGo(of: delivery, nil)
            guard remote.putBack() else { return goOn(after: remote) }
            noteVanished(remote.id)
            isReady(remote)
        }
    }

    /// A time in which a job is given to no worker.
    struct Rest {
        let end: Instant
        /// Whether a worker has asked for it.
        let isAsked: Bool
    }

    /// Gives a job to no worker for a while.
    ///
    /// - Parameter isAsked: whether a worker has asked for that.
    func rest(_ id: JobID, _ milliseconds: Int, isAsked: Bool) {
        let due = loop.now.advanced(by: .milliseconds(milliseconds))
        resting[id] = Rest(end: due, isAsked: isAsked)
        let exchange = Confined(self, to: loop)
        _ = loop.schedule(at: due) {
            // It may have been given back once more, for longer.
            guard exchange.value.resting[id]?.end == due else { return }
            exchange.value.resting[id] = nil
            exchange.value.match()
        }
    }

    /// Gives no more jobs out, since the daemon goes down.
    ///
    /// Jobs in workers' hands may still end.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        for taker in takers {
            if let timeout = taker.timeout.take() { loop.cancel(timeout) }
            door?.answer(taker.reply, Self.goingDown.reply)
        }
        takers = []
        leaveStopped()
    }

    /// Lets go of the jobs of stopped threads that no worker waits for; of all once it is closed.
    func leaveStopped() {
        let isClosed = isClosed
        if !lobby.isEmpty {
            for context in lobby.take(where: { isClosed || $0.isStopped }) { leave(context) }
        }
        let left = ready.filter { isClosed || $0.member.thread.isStopped }
        guard !left.isEmpty else { return }
        ready.removeAll { remote in left.contains { $0 === remote } }
        for remote in left { leave(remote.context) }
    }
}
