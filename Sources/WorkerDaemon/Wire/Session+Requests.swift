// The requests of a session that speaks HTTP, and its end after a refused one.

internal import HTTP
internal import Kernel
internal import RunLoops
internal import TLS

extension Session {
    /// How long, and how much, a client may go on sending behind a refused request.
    private static let lingerPatience = Duration.seconds(2)
    private static let discardedByteCountMax = 1 << 20

    /// Executes the parts of requests that have arrived.
    func executeRequests(_ conversation: HTTPConversation) {
        while isOpen, !isThrottled, !hasInputEnded, !closesWhenSent {
            do throws(HTTPRefusal) {
                guard let part = try conversation.parser.next() else { break }
                if case .head = part {
                    commandCount += 1
                    conversation.stopWaiting()
                }
                delegate.execute(.success(part), for: self)
            } catch {
                if error == .tlsHandshake { delegate.handshakeRefused(self) }
                closeAfterRefusal()
                delegate.execute(.failure(error), for: self)
            }
        }
        guard isOpen else { return }
        conversation.lookForHead(isReading: !isThrottled && !hasInputEnded && !closesWhenSent)
    }

    /// The client has not sent a request's head in time.
    func headIsLate() {
        conversation?.wasLate()
        let patience = HTTPConversation.headPatience
        guard conversation?.parser.isInsideHead == true else {
            return close("it sent no request within \(patience)")
        }
        let late = HTTPRefusal(.requestTimeout, "line and header have to come within \(patience)")
        closeAfterRefusal()
        delegate.execute(.failure(late), for: self)
    }

    /// Executes nothing more, and closes once the refusal is out.
    func closeAfterRefusal() {
        conversation?.isRefusing = true
        closeWhenAnswered()
    }

    /// Waits until the client has seen the end.
    ///
    /// A connection that is closed with bytes unread is reset, and the client may lose the answer
    /// that it has not read.
    func linger() {
        guard !isLingering, let socket else { return }
        isLingering = true
        guard (try? socket.shutdownWriting()) != nil else { return close("done") }
        let session = Confined(self, to: loop)
        conversation?.wait(for: Self.lingerPatience) { session.value.close("done") }
        discard()
        updateInterest()
    }

    /// Reads and discards bytes.
    func discard() {
        var bytes: [UInt8] = []
        do throws(TLSError) {
            while let socket, let conversation {
                bytes.removeAll(keepingCapacity: true)
                let result = try socket.read(
                    appendingTo: &bytes, atMost: Self.readByteCount)
                guard case .bytes = result else {
                    return result == .wouldBlock ? () : close("done")
                }
                conversation.discardedByteCount += bytes.count
                guard conversation.discardedByteCount < Self.discardedByteCountMax else {
                    return close("done")
                }
            }
        } catch {
            close("done")
        }
    }
}
