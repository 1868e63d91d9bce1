// TLS of a session: its handshake, and what its calls wait for. Bytes that OpenSSL has are read
// in the next pass of the loop: the kernel does not report them.

internal import Kernel
internal import RunLoops
internal import TLS

extension TLSConnection.Need {
    var readiness: Readiness {
        switch self {
        case .readable: .readable
        case .writable: .writable
        }
    }
}

extension Session: HandshakeEnd, SocketReader {
    /// Whether the connection is not yet encrypted: nothing is read or sent before.
    var isShakingHands: Bool { isEncrypted && socket?.tls?.isEstablished == false }

    /// The readiness of the socket that the session needs for its interests;
    /// bytes that OpenSSL has need no socket.
    func need(for interest: Readiness) -> Readiness {
        if interest.contains(.readable) { readHeldInput(on: loop) }
        return socket?.need(for: interest) ?? []
    }

    /// Goes on with the handshake, in its turn.
    func continueHandshake() {
        guard let tls = socket?.tls, !tls.isEstablished else { return }
        do throws(TLSError) {
            try tls.shakeHands()
        } catch {
            delegate.handshakeEnded(self, error)
            return close("\(error)")
        }
        guard tls.isEstablished else {
            port?.interest = tls.handshakeNeed.readiness
            return
        }
        handshakes.end(self)
        delegate.handshakeEnded(self, nil)
        conversation?.awaitHead()
        handle(.readable)
    }

    /// The client has not done its part of the handshake in time.
    func handshakeIsLate() {
        close("no TLS handshake within \(HandshakeRound.patience)")
    }

    /// Tells the client that the connection ends, and lets go of its handshake.
    func endTLS() {
        handshakes.end(self)
        socket?.tls?.shutdownWriting()
    }
}
