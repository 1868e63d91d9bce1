// The way of a stop from the connection's thread to its job.

internal import RESP
internal import Synchronization

/// The job that a worker holds, as the connection's thread knows it.
final class StopBoard: Sendable {
    /// An event in the life of a held job.
    enum Event: Sendable {
        case stop
        case disconnected
        case ended(Result<[UInt8], any Error>)
    }

    private struct State {
        var token: String?
        var tell: (@Sendable (Event) -> Void)?
        /// A stop may come before the reply to the TAKE that it is about.
        var early: String?
    }

    private let state = Mutex(State())

    /// Tells of the stop of a job from now on, and of the end of the connection.
    func begin(_ token: String, tell: @escaping @Sendable (Event) -> Void) {
        let isStopped = state.withLock { state in
            state.token = token
            state.tell = tell
            return state.early.take() == token
        }
        if isStopped { tell(.stop) }
    }

    func end() {
        state.withLock { $0 = State() }
    }

    /// Takes a push that is no news of a watched job.
    func take(_ push: RESPValue) {
        guard case .push(let parts) = push, parts.count >= 3, parts[0].text == "stop",
            let token = parts[2].text
        else { return }
        ring(token)
    }

    /// Tells that the job of a token is to stop.
    ///
    /// - Thread: any thread.
    func ring(_ token: String) {
        let tell = state.withLock { state -> (@Sendable (Event) -> Void)? in
            if state.token == token { return state.tell }
            if state.token == nil { state.early = token }
            return nil
        }
        tell?(.stop)
    }

    func connectionEnded() {
        state.withLock { $0.tell }?(.disconnected)
    }
}
