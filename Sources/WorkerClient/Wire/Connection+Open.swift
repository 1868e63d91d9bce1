// How a connection is made: connect, agree on the protocol, give the password. A failure here has
// sent no command, and the error says what to try.

internal import Glibc
internal import Kernel
internal import RESP
internal import TLS

extension Connection {
    /// Connects to a daemon and greets it.
    ///
    /// - Throws: `.notConnected`; `.daemon` with NOAUTH or WRONGPASS when it is the password;
    ///   `.closed` when it was interrupted.
    /// - Blocks: until the daemon has answered, at most as long as the options say, for the
    ///   connecting and the greeting each.
    static func open(
        _ address: WorkerAddress, _ options: ClientOptions, _ interruption: Interruption
    ) throws(WorkerClientError) -> Connection {
        try interruption.check()
        var connection: Connection
        let socket = try connect(to: address, options)
        try address.checkServer(at: socket)
        let context = try address.tls.map { (tls) throws(WorkerClientError) in
            (try tls.context(for: address), tls.serverName ?? address.host)
        }
        do throws(TLSError) {
            connection = try adopt(socket, context, options, interruption)
        } catch {
            throw notEncrypted(address, error)
        }
        do throws(WorkerClientError) {
            try connection.encrypt(address, within: options.connectTimeout)
            try connection.greet(address, within: options.connectTimeout)
        } catch {
            // Else the daemon would be blamed for what this side did.
            try interruption.check()
            throw error
        }
        return connection
    }

    private static func connect(
        to address: WorkerAddress, _ options: ClientOptions
    ) throws(WorkerClientError) -> Descriptor {
        do throws(SocketError) {
            let timeout = max(1, options.connectTimeout.wholeMilliseconds)
            return try address.resolved().connect(timeoutMilliseconds: timeout)
        } catch {
            throw notConnected(address, error)
        }
    }

    private static func adopt(
        _ socket: consuming Descriptor, _ tls: (context: TLSContext, serverName: String)?,
        _ options: ClientOptions, _ interruption: Interruption
    ) throws(TLSError) -> Connection {
        let wire = try Wire(socket, tls, stringByteCountMax: options.replyByteCountMax)
        do throws(SystemError) {
            return try Connection(wire, interruption: interruption)
        } catch {
            throw .system(error)
        }
    }

    /// Does the handshake of TLS, if the address wants one.
    private mutating func encrypt(
        _ address: WorkerAddress, within limit: Duration
    ) throws(WorkerClientError) {
        guard address.tls != nil else { return }
        do {
            try encrypt(before: deadline(after: limit))
        } catch let error as TLSError {
            throw Self.notEncrypted(address, error)
        } catch WorkerClientError.timedOut(let limit) {
            throw .notConnected(
                address: address.description,
                reason: "it did not agree on TLS within \(limit)",
                advice: "does this door of the daemon have listen.tls?")
        } catch let error as WorkerClientError {
            throw error
        } catch {
            throw .closed("\(error)")
        }
    }

    private static func notEncrypted(
        _ address: WorkerAddress, _ error: TLSError
    ) -> WorkerClientError {
        let advice =
            switch error {
            case .plaintext, .hungUp, .system: "does this door of the daemon have listen.tls?"
            case .otherCertificate, .fault:
                "--cacert names the file of the certificate's authority, --tls-name the name in it"
            }
        return .notConnected(
            address: address.description, reason: error.description, advice: advice)
    }

    /// Agrees on version 3 of the protocol, or on 2 with a server that has no HELLO.
    private mutating func greet(
        _ address: WorkerAddress, within limit: Duration
    ) throws(WorkerClientError) {
        let password = address.password
        let authentication: [CommandArgument] =
            password.map { ["AUTH", .text(address.user), .bytes($0)] } ?? []
        do throws(WorkerClientError) {
            try greet(["HELLO", 3] + authentication, within: limit)
        } catch .daemon(let word, let message) where Self.hasNoHello(word, message) {
            guard let password else { return }
            let isDefault = address.user == WorkerAddress.defaultUser
            let user: [CommandArgument] = isDefault ? [] : [.text(address.user)]
            try greet(["AUTH"] + user + [.bytes(password)], within: limit)
        } catch .daemon(let word, let message) where !["NOAUTH", "WRONGPASS"].contains(word) {
            throw .notConnected(
                address: address.description, reason: "it refuses: \(message)",
                advice: "try again later, or ask its other clients to leave")
        } catch .closed(let reason) {
            throw .notConnected(
                address: address.description, reason: "it does not greet: \(reason)",
                advice: "is it workerd that listens there, and is it not going down?")
        } catch .timedOut(let limit) {
            throw .notConnected(
                address: address.description, reason: "it did not greet within \(limit)",
                advice: "is it workerd that listens there, and does it still run?")
        }
    }

    private mutating func greet(
        _ arguments: [CommandArgument], within limit: Duration
    ) throws(WorkerClientError) {
        let call = Call<Void>(arguments) { _ in }
        let deadline = self.deadline(after: limit)
        // A daemon that refuses the connection says so without having read anything.
        _ = try send(call.encoded, before: deadline)
        try call.value(of: reply(before: deadline))
    }

    /// The error of a command that a new connection did not take whole.
    static func hungUp(_ address: WorkerAddress) -> WorkerClientError {
        .notConnected(
            address: address.description, reason: "it hung up after its greeting",
            advice: "is it going down? Try again")
    }

    private static func hasNoHello(_ word: String, _ message: String) -> Bool {
        word == "NOPROTO" || (word == "ERR" && message.lowercased().hasPrefix("unknown command"))
    }

    private static func notConnected(
        _ address: WorkerAddress, _ error: SocketError
    ) -> WorkerClientError {
        var reason = error.description
        var advice = "is the address right?"
        if case .system(let error) = error {
            reason = error.reason
            advice = Self.advice(error.errno)
        }
        return .notConnected(address: address.description, reason: reason, advice: advice)
    }

    private static func advice(_ errno: CInt) -> String {
        switch errno {
        case ENOENT: "start it with 'workerd --config FILE', or say where its socket is"
        case ECONNREFUSED: "it has ended or has not started: 'workerd --config FILE' starts it"
        case EACCES, EPERM: "listen.unixMode in its configuration says who may connect"
        case ETIMEDOUT: "it does not take connections: is it stopped, or too busy?"
        case EMFILE, ENFILE: "this process or machine has too many files open"
        default: "is the address right?"
        }
    }
}
