// A response of HTTP that goes on: server-sent events, until the client or the daemon ends it.

internal import HTTP
internal import Jobs
internal import Kernel
internal import RunLoops

/// The messages of a stream.
protocol MessageSource: AnyObject {
    /// Appends messages until none is left, or so many bytes are there.
    func append(to bytes: inout [UInt8], atMost byteCountMax: Int)
}

/// A response that goes on.
///
/// Confined to its session's loop.
final class HTTPStream: SessionStream {
    let slot: ReplyToken
    let isAnswer = true
    /// The bytes before the messages; empty once they are written.
    private var opening: [UInt8]
    private let source: any MessageSource
    /// When something was written last.
    private(set) var lastWrite: Instant
    /// Whether a sign of life is due.
    var owesHeartbeat = false

    init(
        _ slot: ReplyToken, to head: RequestHead, _ source: any MessageSource, at now: Instant
    ) {
        self.slot = slot
        self.source = source
        lastWrite = now
        opening = HTTPCall.openingOfStream(to: head) + ServerSentEvents.opening
    }

    /// Takes the bytes that are still to come before the messages.
    func takeOpening() -> [UInt8] {
        defer { opening = [] }
        return opening
    }

    func write(to session: Session) {
        var bytes = takeOpening()
        source.append(to: &bytes, atMost: Session.streamByteCountMax)
        if bytes.isEmpty, owesHeartbeat { bytes = ServerSentEvents.heartbeat }
        owesHeartbeat = false
        guard !bytes.isEmpty else { return }
        lastWrite = session.loop.now
        session.output.append(bytes)
    }
}
