// A stream of a session: output that goes on until the connection ends. The session comes for more
// of it when all before is sent, so nothing is queued for a client that does not read.

internal import HTTP
internal import Jobs
internal import RESP

/// Output that a session takes while its client has room.
///
/// Confined to its session's loop.
protocol SessionStream: AnyObject {
    /// The answer behind which it comes, or whose place it takes.
    var slot: ReplyToken { get }
    /// Whether it takes the place of the answer: the response of HTTP that goes on.
    var isAnswer: Bool { get }
    /// Appends more to the session's output, if there is more.
    func write(to session: Session)
}

extension Session {
    /// The unsent bytes from which on a stream waits.
    static let streamByteCountMax = 64 << 10

    /// Whether a stream may append more.
    var hasRoomForStream: Bool { output.byteCount < Self.streamByteCountMax }

    /// Whether the client may see what is put into jobs: payloads, failures, keys and labels.
    var maySeePayloads: Bool { user.seesPayloads }

    /// Begins a stream, in place of an earlier one.
    func begin(_ stream: any SessionStream) {
        self.stream = stream
        if stream.isAnswer {
            // Nothing more is executed. Further input is discarded, so that its end is seen.
            hasInputEnded = true
            isLingering = true
        }
        scheduleFlush()
    }

    /// Ends a stream that is an answer: the connection closes behind it.
    ///
    /// - Parameter bytes: its last ones.
    func endStream(with bytes: [UInt8]) {
        guard let stream, stream.isAnswer, isOpen else { return }
        self.stream = nil
        fill(stream.slot, encoded: bytes)
    }

    /// Whether there may be something to send, or to end; mostly, commands wait for their answers.
    var mayHaveToSend: Bool {
        !output.isEmpty || pendingReplyCount == 0 || hasInputEnded || closesWhenSent
            || stream != nil || !latestPushes.isEmpty
    }

    /// Appends waiting pushes, or more of the stream.
    ///
    /// - Returns: whether there was anything.
    func writeMore() -> Bool { writeLatestPushes() || writeStream() }

    private func writeStream() -> Bool {
        guard let stream, stream.isAnswer ? isNext(stream.slot) : isAnswered(stream.slot) else {
            return false
        }
        stream.write(to: self)
        return !output.isEmpty
    }
}
