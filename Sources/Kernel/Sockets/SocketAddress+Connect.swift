// The client's side: a connection, made in one blocking call or in the background.

internal import CLinux
internal import Glibc

extension SocketAddress {
    /// Connects to a server.
    ///
    /// - Parameter timeoutMilliseconds: how long to wait for the server to take it, at least 1.
    /// - Returns: a blocking, close-on-exec socket; `setNonBlocking(true)` makes it fit for a loop.
    /// - Throws: `.system` with ECONNREFUSED or ENOENT (no server), EACCES, ETIMEDOUT.
    /// - Thread: any that may wait.
    /// - Blocks: until the server takes the connection, `timeoutMilliseconds` at most.
    /// - Source: connect(2).
    package func connect(timeoutMilliseconds: Int) throws(SocketError) -> Descriptor {
        require(timeoutMilliseconds > 0, "a time limit is positive")
        return try asSocketError { () throws(SystemError) in
            switch self {
            case .unix: try connectUnix(timeoutMilliseconds)
            case .tcp: try connectTCP(timeoutMilliseconds)
            }
        }
    }

    /// A Unix socket's connect either finds room in the server's queue or waits for it; there is
    /// no connecting in the background that poll could report, so the socket's own time limit
    /// for sending bounds the wait.
    private func connectUnix(_ timeoutMilliseconds: Int) throws(SystemError) -> Descriptor {
        let descriptor = try Descriptor.socket(family: family, isNonBlocking: false)
        let limit = TimeLimit(milliseconds: timeoutMilliseconds)
        var error: CInt
        repeat {
            // 0 would wait without end.
            try descriptor.setSendTimeout(milliseconds: max(1, limit.millisecondsLeft))
            let result = unsafe withStorage { unsafe Glibc.connect(descriptor.number, $0, $1) }
            error = result < 0 ? Glibc.errno : 0
        } while error == EINTR && limit.millisecondsLeft > 0
        if error != 0 {
            let isLate = error == EAGAIN || error == EINTR
            throw SystemError(operation: "connect \(self)", errno: isLate ? ETIMEDOUT : error)
        }
        try descriptor.setSendTimeout(milliseconds: 0)
        return descriptor
    }

    /// TCP connects in the background and poll waits for the outcome: a blocking connect that a
    /// signal interrupts could not be called again.
    private func connectTCP(_ timeoutMilliseconds: Int) throws(SystemError) -> Descriptor {
        let descriptor = try startConnecting()
        let limit = CInt(clamping: timeoutMilliseconds)
        if try !waitUntilReady(
            descriptor.number, for: CShort(POLLOUT), timeoutMilliseconds: limit)
        {
            throw SystemError(operation: "connect \(self)", errno: ETIMEDOUT)
        }
        try descriptor.checkConnected(to: self)
        try descriptor.setNonBlocking(false)
        return descriptor
    }

    /// Begins to connect to a TCP server, in the background.
    ///
    /// The connection ends if the server's machine has answered nothing for two minutes, as the
    /// connections of a `Listener` do.
    ///
    /// - Returns: a non-blocking, close-on-exec socket; it is ready for writing when the outcome is
    ///   there for `checkConnected`.
    /// - Throws: EMFILE, ENETUNREACH and the like.
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: connect(2), EINPROGRESS.
    package func beginConnecting() throws(SystemError) -> Descriptor {
        let descriptor = try startConnecting()
        try Listener.prepareTCP(descriptor)
        return descriptor
    }

    private func startConnecting() throws(SystemError) -> Descriptor {
        let descriptor = try Descriptor.socket(family: family, isNonBlocking: true)
        try descriptor.setOption("TCP_NODELAY", CInt(IPPROTO_TCP), TCP_NODELAY, 1)
        // EINTR cannot happen here: a non-blocking connect does not wait.
        let result = unsafe withStorage { unsafe Glibc.connect(descriptor.number, $0, $1) }
        if result < 0, Glibc.errno != EINPROGRESS { throw .last("connect \(self)") }
        return descriptor
    }
}

extension Descriptor {
    /// Checks the outcome of `beginConnecting`, once the socket is ready.
    ///
    /// - Throws: ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH: there is no connection.
    /// - Thread: the one that owns the descriptor.
    /// - Blocks: never.
    /// - Source: connect(2); socket(7), SO_ERROR.
    package borrowing func checkConnected(to address: SocketAddress) throws(SystemError) {
        let outcome = try option("SO_ERROR", SOL_SOCKET, SO_ERROR)
        if outcome != 0 { throw SystemError(operation: "connect \(address)", errno: outcome) }
    }

    /// Bounds how long sending and connecting wait; 0 waits without end.
    fileprivate borrowing func setSendTimeout(milliseconds: Int) throws(SystemError) {
        var limit = timeval(
            tv_sec: milliseconds / 1000, tv_usec: milliseconds % 1000 * 1000)
        try retrying("setsockopt SO_SNDTIMEO") {
            unsafe setsockopt(
                number, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
    }
}
