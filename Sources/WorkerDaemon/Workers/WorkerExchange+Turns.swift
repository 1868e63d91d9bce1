// The turns of threads. When a job has ended, its thread's next job follows it here, without a
// wake-up of the thread. A thread without a job is left asleep for a moment, as the next one may
// come soon; then it goes on by itself, and serves whatever else is in its loop.

internal import Jobs
internal import Kernel
internal import RunLoops

/// Turns of threads that serve no job for the moment.
struct IdleTurns {
    /// So long they stay so.
    static let patience = Duration.milliseconds(20)

    private var since: [ObjectIdentifier: (turn: RemoteTurn, moment: Instant)] = [:]
    var isTimed = false

    var isEmpty: Bool { since.isEmpty }

    /// A turn is idle from now on.
    mutating func note(_ turn: RemoteTurn, at now: Instant) {
        since[ObjectIdentifier(turn)] = (turn, now)
    }

    /// Removes turns that are idle no more.
    ///
    /// - Returns: those that have been idle for long.
    mutating func removeLong(at now: Instant) -> [RemoteTurn] {
        let before = now.advanced(by: .zero - Self.patience)
        let long = since.values.filter { $0.moment <= before && $0.turn.isIdle }.map(\.turn)
        since = since.filter { $0.value.moment > before && $0.value.turn.isIdle }
        return long
    }
}

extension WorkerExchange {
    /// Has a thread go on after a job that has ended, with its next one.
    func goOn(after remote: RemoteJob) {
        // Later, if jobs behind this one are being retracted, or its thread is being replaced.
        guard isCarryingOut() || remote.context.isGivenUp else { return goOnNow(after: remote) }
        let box = Confined((exchange: self, remote: remote), to: loop)
        loop.perform { box.value.exchange.goOnNow(after: box.value.remote) }
    }

    private func goOnNow(after remote: RemoteJob) {
        if remote.turn.release(remote) { goOn(remote.turn) }
    }

    /// Has a thread go on that serves no job.
    func goOn(_ turn: RemoteTurn) {
        switch turn.next() {
        case .job(let remote): isReady(remote)
        case .nothing:
            idleTurns.note(turn, at: loop.now)
            endLongIdleTurns()
        case .over: break
        }
    }

    /// Ends turns that stay idle, once they have been so for long.
    private func endLongIdleTurns() {
        guard !idleTurns.isTimed else { return }
        idleTurns.isTimed = true
        let exchange = Confined(self, to: loop)
        _ = loop.schedule(at: loop.now.advanced(by: IdleTurns.patience)) {
            let exchange = exchange.value
            exchange.idleTurns.isTimed = false
            for turn in exchange.idleTurns.removeLong(at: exchange.loop.now) { turn.endIfIdle() }
            if !exchange.idleTurns.isEmpty { exchange.endLongIdleTurns() }
        }
    }
}
