// All streams that go on: how many each client has, their signs of life, and their end.

internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops

/// The streams of all sessions, of both protocols.
///
/// One timer serves all of them; with no stream of HTTP there is none.
///
/// Confined to its loop's thread.
final class OpenStreams {
    /// How long a stream of HTTP says nothing at most.
    static let silence = Duration.seconds(15)
    /// Signs of life that are due within this time are sent together.
    private static let leeway = Duration.seconds(5)

    /// How many streams one user or address may open.
    ///
    /// A lower limit closes none that is open.
    var countMax: Int
    private let loop: ThreadRunLoop
    /// By the numbers of their sessions.
    private var open: [UInt64: (session: Session, peer: String, stream: HTTPStream?)] = [:]
    private var counts: [String: Int] = [:]
    private var timeout: ThreadRunLoop.Timeout?

    /// - Parameter countMax: the most streams of one user or address.
    init(countMax: Int, loop: ThreadRunLoop) {
        self.countMax = countMax
        self.loop = loop
    }

    var count: Int { open.count }

    /// Refuses a session's stream if its user or address has too many.
    func check(_ session: Session) throws(WireError) {
        guard open[session.number] == nil, counts[Self.peer(session), default: 0] >= countMax
        else { return }
        throw WireError(
            .busy,
            "\(countMax) streams are open to this user or address, the limit "
                + "(limits.streams in the configuration): end some")
    }

    /// The user of a process of this machine, or the network of another one.
    private static func peer(_ session: Session) -> String {
        session.ends.process.map { "user \($0.userID)" } ?? session.ends.network
    }

    /// Begins a session's stream.
    ///
    /// - Parameter stream: of HTTP; nil for pushes of RESP, which need no signs of life.
    func add(_ session: Session, _ stream: HTTPStream?) {
        let peer = Self.peer(session)
        if open.updateValue((session, peer, stream), forKey: session.number) == nil {
            counts[peer, default: 0] += 1
        }
        if stream != nil, timeout == nil { beat(at: loop.now.advanced(by: Self.silence)) }
    }

    /// A session, or its stream, has ended.
    func remove(_ session: UInt64) {
        guard let peer = open.removeValue(forKey: session)?.peer else { return }
        counts[peer, default: 1] -= 1
        if counts[peer] == 0 { counts[peer] = nil }
        guard open.values.allSatisfy({ $0.stream == nil }) else { return }
        if let timeout { loop.cancel(timeout) }
        timeout = nil
    }

    /// Ends all streams of HTTP with a last message: the daemon is down.
    func end() {
        var last: [UInt8] = []
        ServerSentEvents.append(
            "end", id: nil, .map([entry("reason", text("shutting-down"))]), to: &last)
        for (session, _, stream) in open.values {
            if let stream { session.endStream(with: stream.takeOpening() + last) }
        }
    }

    // MARK: - Signs of life

    private func beat(at moment: Instant) {
        let streams = Confined(self, to: loop)
        timeout = loop.schedule(at: moment) { streams.value.beat() }
    }

    private func beat() {
        timeout = nil
        let due = loop.now.advanced(by: .zero - Self.silence + Self.leeway)
        var first = loop.now
        for (session, _, stream) in open.values {
            guard let stream else { continue }
            if stream.lastWrite <= due {
                stream.owesHeartbeat = true
                session.scheduleFlush()
            } else {
                first = min(first, stream.lastWrite)
            }
        }
        if open.values.contains(where: { $0.stream != nil }) {
            beat(at: first.advanced(by: Self.silence))
        }
    }
}
