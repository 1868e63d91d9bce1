// The half of a session that speaks HTTP: requests in, responses out, in the place of the parser
// and the writer of the Redis protocol. All else of a connection is the session's.

internal import HTTP
internal import Kernel
internal import RunLoops
internal import TLS

/// The requests and responses of one connection.
///
/// Confined to its session's loop.
final class HTTPConversation {
    /// A response on its way: how the answer to a command becomes its bytes.
    enum Exchange {
        /// The answer has the bytes of a whole response.
        case whole
        /// The answer is a value, or the rows of a listing.
        case call(HTTPCall)
    }

    /// How long a request's line and header may take.
    static let headPatience = Duration.seconds(10)
    /// Requests that may be outstanding before the session stops reading: a client with more of
    /// them opens more connections.
    static let pendingCountMax = 64
    /// Unread bytes behind which the next request is not begun: each client may send many at once.
    static let unreadByteCountMax = 64 << 10

    var parser: RequestParser
    /// The head of the request that is being read or answered.
    var head: RequestHead?
    /// The refusal of a request whose body has to come first.
    var refusal: HTTPRefusal?
    /// Whether the connection ends with the refusal of a request.
    var isRefusing = false
    /// How much of the client has been discarded behind it.
    var discardedByteCount = 0
    /// How the answer that is reserved next becomes a response.
    var next = Exchange.whole
    private var exchanges: [UInt64: Exchange] = [:]
    private let loop: ThreadRunLoop
    private var timeout: ThreadRunLoop.Timeout?
    /// Called when a head has taken too long.
    var isLate: (@Sendable () -> Void)?

    init(bodyByteCountMax: Int, loop: ThreadRunLoop) {
        parser = RequestParser(bodyByteCountMax: bodyByteCountMax)
        self.loop = loop
    }

    /// Breaks the cycle with the session, and cancels the time-out.
    func close() {
        stopWaiting()
        isLate = nil
    }

    /// Reads once, with room for so many bytes.
    ///
    /// - Parameter spare: memory that many connections share.
    func read(
        from socket: Session.Socket, atLeast byteCount: Int, _ spare: inout [UInt8]
    ) throws(TLSError) -> ReadResult {
        parser.takeMemory(&spare)
        var result = ReadResult.wouldBlock
        try parser.withUninitializedTail(atLeast: byteCount) {
            (room: inout OutputSpan<UInt8>) throws(TLSError) in
            result = try socket.read(into: &room)
        }
        return result
    }

    /// Notes how the answer of a place becomes a response.
    func reserve(_ slot: UInt64) {
        exchanges[slot] = next
        next = .whole
    }

    /// Changes how the answer of a reserved place becomes a response.
    func change(_ slot: UInt64, to exchange: Exchange) { exchanges[slot] = exchange }

    /// Takes out how the answer of a place becomes a response.
    func exchange(of slot: UInt64) -> Exchange { exchanges.removeValue(forKey: slot) ?? .whole }

    /// Waits a while for a head.
    func awaitHead() {
        guard timeout == nil, let isLate else { return }
        wait(for: Self.headPatience, isLate)
    }

    /// Sets the time-out, in place of an earlier one.
    func wait(for patience: Duration, _ body: @escaping @Sendable () -> Void) {
        stopWaiting()
        timeout = loop.schedule(after: patience, body)
    }

    /// Sets the time-out while the rest of a head is missing, and cancels it otherwise.
    ///
    /// - Parameter isReading: whether the session reads; a head that it leaves alone is not late.
    func lookForHead(isReading: Bool) {
        if isReading, parser.isInsideHead { return awaitHead() }
        stopWaiting()
    }

    func stopWaiting() {
        if let timeout { loop.cancel(timeout) }
        timeout = nil
    }

    /// Drops the time-out that has just rung.
    func wasLate() { timeout = nil }
}
