// Following the state of a daemon with the blocking client, on a connection of its own.

internal import RESP

extension WorkerClient {
    /// A daemon that pushes nothing for so long is asked for a sign of life.
    private static let silenceMax = Duration.seconds(5)

    /// Calls `body` with the state of all threads, and each time that it has changed, at most once
    /// a second.
    ///
    /// - Parameter body: called on this thread; when it returns false, that was the last time.
    /// - Throws: `.closed` when the daemon goes down; `.timedOut` when it does not answer.
    /// - Thread: any thread.
    /// - Blocks: until the daemon or the body ends it.
    package func followLive(_ body: (LiveView) -> Bool) throws(WorkerClientError) {
        var connection = try Connection.open(address, options, interruption)
        var view = LiveView()
        var call = Call<Void>.live
        while true {
            var deadline = connection.deadline(after: options.replyTimeout)
            guard try connection.send(call.encoded, before: deadline) == .whole else {
                throw Connection.hungUp(address)
            }
            var isAnswered = false
            while true {
                let value: RESPValue
                do throws(WorkerClientError) {
                    value = try connection.nextValue(before: deadline)
                } catch {
                    guard case .timedOut = error, isAnswered else { throw error }
                    break
                }
                if case .push = value {
                    guard try view.take(value) else { continue }
                    if !body(view) { return }
                } else {
                    guard !isAnswered else { throw Read.unexpected(value, "a push") }
                    try call.value(of: value)
                    isAnswered = true
                }
                if isAnswered { deadline = connection.deadline(after: Self.silenceMax) }
            }
            call = .ping
        }
    }
}
