// A socket that takes connections. It knows nothing of what is spoken on them.

internal import CLinux
internal import Glibc

/// The result of one accept.
package enum AcceptResult: ~Copyable, Sendable {
    /// A connection, non-blocking and close-on-exec.
    case connection(Descriptor)
    /// No client waits; the poller reports when one does.
    ///
    /// So it is too when there is no descriptor for a next one.
    case wouldBlock
    /// A client waits, but the process or the machine has no descriptor or memory for it.
    ///
    /// The poller goes on reporting it: the owner should stop asking until a connection was
    /// closed.
    case outOfDescriptors
}

/// A socket that listens; non-blocking and close-on-exec.
///
/// Letting go of it ends the listening and removes its socket file, if it made one and no other
/// process has replaced it.
package struct Listener: ~Copyable, Sendable {
    /// How many connections may wait to be accepted; the kernel takes less if
    /// `net.core.somaxconn` is less.
    package static let backlogDefault = 1024

    /// The descriptor that the poller watches.
    package let descriptor: Descriptor
    /// Where it listens; the port is the one the kernel chose, if it was left to it.
    package let address: SocketAddress
    private let file: SocketFile?

    /// Listens at an address.
    ///
    /// At a path: a socket file without a listener is replaced. At a port: a port whose last
    /// connections are still dying is taken (SO_REUSEADDR), IPv6 takes IPv6 only (IPV6_V6ONLY), and
    /// the connections send small pieces at once (TCP_NODELAY), and end when the other machine has
    /// answered nothing for two minutes (SO_KEEPALIVE, TCP_USER_TIMEOUT).
    ///
    /// - Parameters:
    ///   - address: where.
    ///   - mode: the mode bits of the socket file, from its first moment: who may write may
    ///     connect.
    ///   - backlog: how many connections may wait.
    /// - Throws: `.inUse` when a server lives there, `.notASocket`, `.directoryBusy`, or what the
    ///   kernel says: EACCES, ENOENT (no such directory), EADDRNOTAVAIL.
    /// - Thread: any.
    /// - Blocks: for the disk; for a second at most when other servers start in the directory.
    /// - Source: unix(7), tcp(7), listen(2).
    package init(
        at address: SocketAddress, mode: UInt32 = File.ownerOnly,
        backlog: Int = Listener.backlogDefault
    ) throws(SocketError) {
        let descriptor = try asSocketError { () throws(SystemError) in
            try Descriptor.socket(family: address.family, isNonBlocking: true)
        }
        switch address {
        case .unix(let path):
            file = try SocketFile.bind(descriptor, to: path, mode: mode) {
                (descriptor: borrowing Descriptor) throws(SystemError) in
                try Listener.listen(descriptor, address, backlog)
            }
            self.address = address
        case .tcp:
            do throws(SystemError) {
                try Listener.bindTCP(descriptor, to: address)
                try Listener.listen(descriptor, address, backlog)
                self.address = try SocketAddress.bound(descriptor) ?? address
            } catch {
                if error.errno == EADDRINUSE { throw .inUse(address.description) }
                throw .system(error)
            }
            file = nil
        }
        self.descriptor = descriptor
    }

    /// Listens at an address that another server may be about to leave.
    ///
    /// A server that is killed while it starts a program leaves its sockets to the child until the
    /// child has become that program.
    ///
    /// - Thread: any.
    /// - Blocks: for the disk, and for a second at most while the address is in use.
    package static func awaited(
        at address: SocketAddress, mode: UInt32 = File.ownerOnly
    ) throws(SocketError) -> Listener {
        let limit = TimeLimit(milliseconds: 1_000)
        while true {
            do throws(SocketError) {
                return try Listener(at: address, mode: mode)
            } catch {
                guard case .inUse = error, limit.millisecondsLeft > 0 else { throw error }
            }
            _ = poll(nil, 0, pauseMilliseconds)
        }
    }

    /// The pause before an address is tried again that is in use.
    private static let pauseMilliseconds: CInt = 25

    /// Takes over a socket that listens already, from a service manager; its file stays its own.
    ///
    /// - Parameter number: the descriptor that the service manager named; it is closed in any case.
    /// - Throws: `.system` with EBADF (not open), ENOTSOCK, EINVAL (not a listening stream socket).
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: sd_listen_fds(3).
    package init(inherited number: Int) throws(SocketError) {
        // The number comes from the environment, so that a bad one is no mistake of this program.
        let what = "inherited descriptor \(number)"
        guard let raw = CInt(exactly: number), raw >= 0,
            clinux_fcntl(raw, F_SETFD, FD_CLOEXEC) >= 0
        else { throw .system(SystemError(operation: what, errno: EBADF)) }
        let descriptor = Descriptor(owning: raw)
        let bound = try asSocketError { () throws(SystemError) -> SocketAddress? in
            guard try descriptor.option("SO_ACCEPTCONN", SOL_SOCKET, SO_ACCEPTCONN) == 1 else {
                return nil
            }
            try descriptor.setNonBlocking(true)
            return try SocketAddress.bound(descriptor)
        }
        guard let bound else { throw .system(SystemError(operation: what, errno: EINVAL)) }
        if case .tcp = bound {
            try asSocketError { () throws(SystemError) in try Self.prepareTCP(descriptor) }
        }
        self.descriptor = descriptor
        address = bound
        file = nil
    }

    deinit {
        // Before the descriptor is closed: SocketFile says why.
        file?.removeIfOurs()
    }

    /// Takes the next connection.
    ///
    /// Connections that ended while they waited are skipped.
    ///
    /// - Throws: what no connection can cause; the listener is of no use then.
    /// - Thread: the one that owns the listener.
    /// - Blocks: never.
    /// - Source: accept4(2).
    package borrowing func accept() throws(SystemError) -> AcceptResult {
        // Each turn takes one dead connection off the queue, which has no more than that.
        for _ in 0...Listener.deadConnectionCountMax {
            do throws(SystemError) {
                let flags = CInt(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
                let number = try retrying("accept4") {
                    accept4(descriptor.number, nil, nil, flags)
                }
                return .connection(Descriptor(owning: number))
            } catch {
                switch error.errno {
                case EAGAIN: return .wouldBlock
                case EMFILE, ENFILE, ENOMEM, ENOBUFS:
                    // The kernel looks for a descriptor first, and for a connection only then.
                    return hasWaitingConnection ? .outOfDescriptors : .wouldBlock
                // Linux reports here what went wrong with the connection; see accept(2).
                case ECONNABORTED, EPERM, EPROTO, ENOPROTOOPT, ENETDOWN, ENETUNREACH,
                    EHOSTDOWN, EHOSTUNREACH, ENONET:
                    continue
                default: throw error
                }
            }
        }
        throw SystemError(operation: "accept4", errno: ECONNABORTED)
    }

    private var hasWaitingConnection: Bool {
        var request = pollfd(fd: descriptor.number, events: CShort(POLLIN), revents: 0)
        // In doubt one waits.
        return unsafe poll(&request, 1, 0) != 0
    }

    private static let deadConnectionCountMax = 65_536

    /// Prepares a socket; accepted ones inherit it all from the listening one.
    ///
    /// A machine that is switched off says no goodbye. The kernel probes a connection that has been
    /// silent for 30 s, and ends it when it has heard nothing for two minutes: the time-out of sent
    /// bytes counts for probes too, in place of their number.
    ///
    /// - Source: tcp(7).
    static func prepareTCP(_ descriptor: borrowing Descriptor) throws(SystemError) {
        let tcp = CInt(IPPROTO_TCP)
        try descriptor.setOption("TCP_NODELAY", tcp, TCP_NODELAY, 1)
        try descriptor.setOption("SO_KEEPALIVE", SOL_SOCKET, SO_KEEPALIVE, 1)
        try descriptor.setOption("TCP_KEEPIDLE", tcp, TCP_KEEPIDLE, 30)
        try descriptor.setOption("TCP_KEEPINTVL", tcp, TCP_KEEPINTVL, 10)
        try descriptor.setOption("TCP_KEEPCNT", tcp, TCP_KEEPCNT, 3)
        try descriptor.setOption("TCP_USER_TIMEOUT", tcp, TCP_USER_TIMEOUT, 120_000)
    }

    private static func bindTCP(
        _ descriptor: borrowing Descriptor, to address: SocketAddress
    ) throws(SystemError) {
        try descriptor.setOption("SO_REUSEADDR", SOL_SOCKET, SO_REUSEADDR, 1)
        try prepareTCP(descriptor)
        if address.family == AF_INET6 {
            try descriptor.setOption("IPV6_V6ONLY", CInt(IPPROTO_IPV6), IPV6_V6ONLY, 1)
        }
        try retrying("bind \(address)") {
            unsafe address.withStorage { unsafe Glibc.bind(descriptor.number, $0, $1) }
        }
    }

    private static func listen(
        _ descriptor: borrowing Descriptor, _ address: SocketAddress, _ backlog: Int
    ) throws(SystemError) {
        try retrying("listen \(address)") {
            Glibc.listen(descriptor.number, CInt(clamping: backlog))
        }
    }
}
