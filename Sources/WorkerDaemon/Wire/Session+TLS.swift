// TLS of a session: its handshake, and what its calls wait for. Bytes that OpenSSL holds are read
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

extension Session {
    /// Whether the connection is not yet encrypted: nothing is read or sent before.
    var isShakingHands: Bool { socket?.isReady == false }

    /// What the socket has to be ready for before it is read.
    var readNeed: Readiness { socket?.tls?.readNeed.readiness ?? .readable }

    /// What the socket has to be ready for before bytes are sent.
    var writeNeed: Readiness { socket?.tls?.writeNeed.readiness ?? .writable }

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

    /// Reads in the next pass what OpenSSL holds.
    func readSoon() {
        guard let socket, !socket.isReadPlanned else { return }
        socket.isReadPlanned = true
        let session = Confined(self, to: loop)
        loop.perform {
            let session = session.value
            session.socket?.isReadPlanned = false
            session.handle(session.readNeed)
        }
    }

    /// Tells the client that the connection ends, and lets go of its handshake.
    func end(_ tls: TLSConnection) {
        handshakes.end(self)
        tls.shutdownWriting()
    }
}
