// The matching of jobs and workers. The job that was ready first goes to the worker that has waited
// longest, if that worker serves its selector and may touch it; else to the next one that does.

internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops
internal import WorkerThreads

extension WorkerExchange {
    /// Gives a TAKE a job that waits, or lets it wait for one.
    func serve(_ taker: Taker) {
        if isClosed {
            door?.answer(taker.reply, Self.goingDown.reply)
            return
        }
        takers.append(taker)
        if let remote = ready.first(where: { fits($0, taker) }) {
            return deliver(remote, to: taker)
        }
        lobby.release(taker.request.selectors)
        guard taker.timeout == nil else { return }
        let confined = Confined((exchange: self, taker: taker), to: loop)
        let due = loop.now.advanced(by: max(taker.request.patience, Self.patienceMin))
        taker.timeout = loop.schedule(at: due) {
            let (exchange, taker) = confined.value
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

    /// Ends a connection's TAKE that waits, with null or an error.
    ///
    /// - Returns: false if none waits.
    func unblock(_ client: UInt64, withError isError: Bool) -> Bool {
        guard let index = takers.firstIndex(where: { $0.worker.client == client }) else {
            return false
        }
        let taker = takers.remove(at: index)
        if let timeout = taker.timeout.take() { loop.cancel(timeout) }
        let error = WireError(.unblocked, "client unblocked via CLIENT UNBLOCK")
        door?.answer(taker.reply, isError ? error.reply : .null)
        return true
    }

    /// Brings jobs and workers together: a thread goes on, say, or a connection has been answered.
    ///
    /// - Complexity: O(jobs that wait × TAKEs that wait); a thread has one job that waits.
    func match() {
        hasUnanswered = false
        for remote in ready where !takers.isEmpty { match(remote) }
        if !lobby.isEmpty, !takers.isEmpty { lobby.release() }
    }

    /// Gives a job that waits to the TAKE that has waited longest.
    func match(_ remote: RemoteJob) {
        guard let taker = takers.first(where: { fits(remote, $0) }) else { return }
        deliver(remote, to: taker)
    }

    private func fits(_ remote: RemoteJob, _ taker: Taker) -> Bool {
        guard !remote.isPaused, resting[remote.id] == nil,
            taker.request.selectors.contains(remote.context.selector), taker.mayTouch(remote),
            mayHave(remote, taker), !isToGoOn(taker)
        else {
            return false
        }
        guard !remote.isStored || mayBegin(remote.context) else {
            awaitTrust()
            return false
        }
        if door?.isNext(taker.reply) == true { return true }
        hasUnanswered = true
        return false
    }

    /// Matches again in a while: another daemon may have the store by now.
    private func awaitTrust() {
        guard trustTimeout == nil else { return }
        let exchange = Confined(self, to: loop)
        trustTimeout = loop.schedule(at: loop.now.advanced(by: Self.trustPause)) {
            exchange.value.trustTimeout = nil
            exchange.value.match()
        }
    }

    private func deliver(_ remote: RemoteJob, to taker: Taker) {
        ready.removeAll { $0 === remote }
        takers.removeAll { $0 === taker }
        var generator = SystemRandomNumberGenerator()
        let token = JobHolder.Token(high: generator.next(), low: generator.next())
        let holder = Self.holder(taker.worker, token, since: clocks.wall.unixMilliseconds())
        guard let delivery = begin(remote, holder, for: taker.worker) else {
            return serve(taker)
        }
        if let timeout = taker.timeout.take() { loop.cancel(timeout) }
        door?.answer(taker.reply, description(of: delivery))
    }

    /// Begins a job for a worker.
    ///
    /// - Returns: nil if it was withdrawn, or expired: its thread lets go of it.
    func begin(_ remote: RemoteJob, _ holder: JobHolder, for worker: Worker) -> Delivery? {
        switch remote.begin(for: holder) {
        case .begun: break
        case .withdrawn: return nil
        case .expired:
            noteExpired(remote.id)
            return nil
        }
        deliveredCount += 1
        let delivery = Delivery(remote, holder, to: worker)
        deliveries[remote.id] = delivery
        if let deadline = remote.context.run?.deadline, deadline != .distantFuture {
            let exchange = Confined((exchange: self, remote: remote), to: loop)
            delivery.limit = loop.schedule(at: deadline) {
                exchange.value.exchange.stop(exchange.value.remote)
            }
        }
        return delivery
    }
}
