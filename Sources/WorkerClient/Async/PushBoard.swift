// The streams that get each push: the connection's thread puts them here, tasks take them from
// their streams.

internal import RESP
internal import Synchronization

/// The streams of watched jobs.
final class PushBoard: Sendable {
    typealias Stream = AsyncThrowingStream<JobNews, any Error>

    private struct State {
        var streams: [UInt64: [UInt64: Stream.Continuation]] = [:]
        var lastTicket: UInt64 = 0
    }

    private let state = Mutex(State())
    /// Gets the pushes about a job that this process holds; nil if it serves none.
    private let stops: StopBoard?

    init(_ stops: StopBoard? = nil) { self.stops = stops }

    /// A number to be added and removed with.
    func makeTicket() -> UInt64 {
        state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
    }

    /// Adds one who watches.
    ///
    /// - Parameter watch: called first, while none can be removed or told of the connection's end:
    ///   so what it says comes before what is said when this one goes. If it throws, no stream is
    ///   added.
    func add(
        _ stream: Stream.Continuation, _ ticket: UInt64, for job: UInt64, watch: () throws -> Void
    ) throws {
        try state.withLock { state in
            try watch()
            state.streams[job, default: [:]][ticket] = stream
        }
    }

    /// Removes one who watches.
    ///
    /// - Parameter unwatch: called if that was the last one, before another can be added: so what
    ///   it says comes before what the next one does.
    func remove(_ ticket: UInt64, for job: UInt64, unwatch: () -> Void) {
        state.withLock { state in
            guard state.streams[job]?.removeValue(forKey: ticket) != nil else { return }
            guard state.streams[job]?.isEmpty == true else { return }
            state.streams[job] = nil
            unwatch()
        }
    }

    /// Hands a push to the streams that watch its job.
    func take(_ push: RESPValue) throws(WorkerClientError) {
        guard let news = try JobNews(push) else {
            stops?.take(push)
            return
        }
        let streams = state.withLock { state in
            news.isFinal ? state.streams.removeValue(forKey: news.id) : state.streams[news.id]
        }
        for stream in (streams ?? [:]).values {
            stream.yield(news)
            if news.isFinal { stream.finish() }
        }
    }

    /// Ends all streams.
    func finish(_ error: any Error) {
        let streams = state.withLock { state in
            defer { state.streams = [:] }
            return state.streams
        }
        for stream in streams.values.joined() { stream.value.finish(throwing: error) }
        stops?.connectionEnded()
    }
}
