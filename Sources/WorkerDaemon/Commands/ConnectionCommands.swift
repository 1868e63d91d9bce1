// Commands about the connection itself, as Redis clients send them.

internal import Kernel
internal import RESP
internal import TLS
internal import Wording

enum ConnectionCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "ping", 1...2, .connection, .anyUser, usage: "[message]",
            "Answers PONG, or the message.",
            execute: { _, _, command in
                command.count == 2 ? .bulk(command.bytes(at: 1)) : .simpleString("PONG")
            }),
        CommandSpecification(
            "echo", 2...2, .connection, .anyUser, usage: "message", "Answers with the message.",
            execute: { _, _, command in .bulk(command.bytes(at: 1)) }),
        CommandSpecification(
            "hello", 1...CommandTable.manyArguments, .connection, .anyUser,
            usage: "[2|3 [AUTH user password] [SETNAME name]]",
            "Agrees on the version of the protocol.", permission: .unauthenticated,
            execute: hello),
        CommandSpecification(
            "auth", 2...3, .connection, .anyUser, usage: "[user] password",
            "Gives a user's password.", permission: .unauthenticated,
            execute: { service, session, command in
                if try service.passwordGate.postpones(command, of: session, service) { return nil }
                try authenticate(
                    service, session, user: command.count == 3 ? command.text(at: 1) : "default",
                    password: command.bytes(at: command.count - 1))
                return .simpleString("OK")
            }),
        CommandSpecification(
            "client", 2...CommandTable.manyArguments, .connection,
            .anyUser.except([
                "kill": .operate(showing: 3).ofAllThreads, "unblock": .work.or(.operate),
            ]),
            usage: "ID|INFO|LIST [ID n …]|GETNAME|SETNAME name|SETINFO key value|KILL ID n|"
                + "UNBLOCK n [TIMEOUT|ERROR]",
            "About the connections.", execute: client),
        CommandSpecification(
            "select", 2...2, .connection, .anyUser, usage: "0", "There is one database: 0.",
            execute: { _, _, command in
                guard command.integer(at: 1) == 0 else {
                    throw WireError(.err, "there is only database 0")
                }
                return .simpleString("OK")
            }),
        CommandSpecification(
            "reset", 1...1, .connection, .anyUser, "Makes the connection as new.",
            permission: [.unauthenticated, .inTransaction],
            execute: { service, session, _ throws(WireError) in
                service.reset(session)
                return .simpleString("RESET")
            }),
        CommandSpecification(
            "quit", 1...1, .connection, .anyUser, "Closes the connection.",
            permission: [.unauthenticated, .inTransaction],
            execute: { _, session, _ throws(WireError) in
                session.reply(.simpleString("OK"))
                session.closeWhenAnswered()
                return nil
            }),
    ]

    private static func hello(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        var version = session.version
        if command.count > 1 {
            guard let number = command.integer(at: 1), let known = ProtocolVersion(rawValue: number)
            else { throw WireError(.noProto, "unsupported protocol version: 2 and 3 are spoken") }
            version = known
        }
        let isGuess = (2..<max(2, command.count)).contains { command.matches($0, "AUTH") }
        if isGuess, try service.passwordGate.postpones(command, of: session, service) { return nil }
        var index = 2
        var name: String?
        while index < command.count {
            if command.matches(index, "AUTH"), index + 2 < command.count {
                try authenticate(
                    service, session, user: command.text(at: index + 1),
                    password: command.bytes(at: index + 2))
                index += 3
            } else if command.matches(index, "SETNAME"), index + 1 < command.count {
                name = try clientName(command, at: index + 1)
                index += 2
            } else {
                throw WireError(
                    .err, "Syntax error in HELLO option \(quoted(command.text(at: index)))")
            }
        }
        guard session.isAuthenticated else {
            throw WireError(
                .noAuth,
                "HELLO must be called with the client already authenticated, otherwise the "
                    + "HELLO <proto> AUTH <user> <pass> option can be used")
        }
        if let name { session.name = name }
        session.setVersion(version)
        if version == .two { service.endPushes(to: session) }
        return .map([
            entry("server", text("workerd")), entry("version", text(Service.redisVersion)),
            entry("proto", .integer(version.rawValue)),
            entry("id", .integer(Int(session.number))), entry("mode", text("standalone")),
            entry("role", text("master")), entry("modules", .array([])),
            entry("workerd_version", text(Service.version)),
        ])
    }

    private static func authenticate(
        _ service: Service, _ session: Session, user: String, password: [UInt8]
    ) throws(WireError) {
        guard service.users.hasPasswords else {
            if session.isAuthenticated {
                throw WireError(.err, "AUTH called without any password configured for this door")
            }
            return
        }
        guard let user = service.users.user(named: user, password: password) else {
            service.passwordGate.guessedWrong(session)
            throw WireError(.wrongPass, "invalid username-password pair or user is disabled.")
        }
        service.letIn(session, as: user)
    }

    private static func client(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        if command.matches(1, "ID") { return .integer(Int(session.number)) }
        if command.matches(1, "GETNAME") {
            return session.name.isEmpty ? .null : text(session.name)
        }
        if command.matches(1, "INFO") { return text(describe(session)) }
        if command.matches(1, "LIST") { return try list(service, session, command) }
        if command.matches(1, "SETNAME"), command.count == 3 {
            session.name = try clientName(command, at: 2)
            return .simpleString("OK")
        }
        if command.matches(1, "SETINFO"), command.count == 4 {
            try setLibrary(of: session, command)
            return .simpleString("OK")
        }
        if command.matches(1, "NO-EVICT") || command.matches(1, "NO-TOUCH") {
            return .simpleString("OK")
        }
        if command.matches(1, "KILL"), command.count == 4, command.matches(2, "ID") {
            guard let number = command.integer(at: 3).flatMap(UInt64.init(exactly:)),
                let other = service.sessions[number]
            else { return .integer(0) }
            if other === session { session.closeWhenAnswered() } else { other.close("killed") }
            return .integer(1)
        }
        if command.matches(1, "UNBLOCK") { return try unblock(service, session, command) }
        throw WireError(
            .err,
            "CLIENT knows ID, INFO, LIST, GETNAME, SETNAME, SETINFO, KILL ID and UNBLOCK, not "
                + quoted(command.text(at: 1)))
    }

    /// CLIENT UNBLOCK n [TIMEOUT | ERROR]: ends a TAKE that waits.
    ///
    /// Workers end those of their own user only.
    private static func unblock(
        _ service: Service, _ session: Session, _ command: Command
    ) throws(WireError) -> RESPValue {
        let isError = command.count == 4 && command.matches(3, "ERROR")
        guard command.count == 3 || isError || command.count == 4 && command.matches(3, "TIMEOUT")
        else {
            throw WireError(.err, "the form is CLIENT UNBLOCK n [TIMEOUT | ERROR]")
        }
        guard let number = command.integer(at: 2) else {
            throw WireError(
                .err,
                "the number of a client, as CLIENT ID tells it, is none: "
                    + quoted(command.text(at: 2)))
        }
        let seesAll = session.user.roles.contains(.operate) && session.user.touchesAll
        guard let other = UInt64(exactly: number).flatMap({ service.sessions[$0] }),
            seesAll || other.user.name == session.user.name,
            service.driver.exchange.unblock(other.number, withError: isError)
        else { return .integer(0) }
        return .integer(1)
    }

    private static func clientName(
        _ command: Command, at index: Int, _ what: String = "Client names"
    ) throws(WireError) -> String {
        let isFine =
            command[index].allSatisfy { (33...126).contains($0) } && command[index].count <= 64
        guard isFine else {
            throw WireError(
                .err,
                "\(what) cannot contain spaces, newlines or special characters, "
                    + "nor have more than 64 bytes.")
        }
        return command.text(at: index)
    }

    /// Notes the name or version that the client's library gives.
    private static func setLibrary(of session: Session, _ command: Command) throws(WireError) {
        if command.matches(2, "LIB-NAME") {
            session.library.name = try clientName(command, at: 3, "lib-name")
        } else if command.matches(2, "LIB-VER") {
            session.library.version = try clientName(command, at: 3, "lib-ver")
        } else {
            throw WireError(
                .err,
                "CLIENT SETINFO knows LIB-NAME and LIB-VER, not \(quoted(command.text(at: 2)))")
        }
    }

    /// CLIENT LIST, CLIENT LIST ID n …, and CLIENT LIST TYPE, of which only `normal` has clients
    /// here.
    ///
    /// Only operators see the connections of others.
    private static func list(
        _ service: Service, _ session: Session, _ command: Command
    ) throws(WireError) -> RESPValue {
        let seesAll = session.user.roles.contains(.operate) && session.user.touchesAll
        var chosen = seesAll ? Array(service.sessions.values) : [session]
        if command.count > 3, command.matches(2, "ID") {
            let numbers = Set((3..<command.count).compactMap { command.integer(at: $0) })
            chosen.removeAll { !numbers.contains(Int($0.number)) }
        } else if command.count == 4, command.matches(2, "TYPE") {
            if !command.matches(3, "NORMAL") { chosen = [] }
        } else if command.count > 2 {
            throw WireError(
                .err, "CLIENT LIST [ID n …]: what is \(quoted(command.text(at: 2)))?")
        }
        let lines = chosen.sorted { $0.number < $1.number }.map(describe)
        return .verbatim(format: "txt", Array(lines.joined().utf8))
    }

    /// A line with the fields of Redis 7.2, then three of workerd.
    ///
    /// Keeps Redis's order, because some clients read fields by their places. `cmds` counts the
    /// client's commands, `pending` its outstanding replies, `tls` is the version or empty.
    private static func describe(_ session: Session) -> String {
        let age = (WallClock.unixMilliseconds() - session.connectedAt) / 1_000
        let isInTransaction = session.standing == .inTransaction
        let flags =
            (isInTransaction ? "x" : "") + (session.ends.client.contains("/") ? "U" : "")
        let (input, output) = (session.input, session.outputByteCount)
        let fields: [(String, any CustomStringConvertible)] = [
            ("id", session.number), ("addr", session.ends.client),
            ("laddr", session.ends.server), ("fd", session.descriptorNumber),
            ("name", session.name), ("age", age), ("idle", session.idleSeconds),
            ("flags", flags.isEmpty ? "N" : flags), ("db", 0), ("sub", 0), ("psub", 0),
            ("ssub", 0), ("multi", isInTransaction ? session.queuedCount : -1),
            ("qbuf", input.byteCount), ("qbuf-free", input.memoryByteCount - input.byteCount),
            ("argv-mem", 0), ("multi-mem", 0), ("rbs", 0), ("rbp", 0), ("obl", 0),
            ("oll", output > 0 ? 1 : 0), ("omem", output),
            ("tot-mem", input.memoryByteCount + output), ("events", session.events),
            ("cmd", session.lastCommand), ("user", session.user.name), ("redir", -1),
            ("resp", session.version.rawValue), ("lib-name", session.library.name),
            ("lib-ver", session.library.version), ("cmds", session.commandCount),
            ("pending", session.pendingReplyCount), ("tls", session.socket?.tls?.version ?? ""),
        ]
        return fields.map { "\($0.0)=\($0.1)" }.joined(separator: " ") + "\n"
    }
}

extension Session {
    /// The connection's descriptor; -1 once it is closed.
    fileprivate var descriptorNumber: Int { socket.map { Int($0.descriptor.number) } ?? -1 }

    /// The events that the connection waits for, in Redis's letters: `r`, or `rw` while answers
    /// wait to be sent.
    fileprivate var events: String { output.isEmpty ? "r" : "rw" }
}
