// Commands about the connection itself, as Redis clients send them.

internal import Kernel
internal import RESP
internal import Wording

enum ConnectionCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "ping", 1...2, .connection, usage: "[message]", "Answers PONG, or the message.",
            execute: { _, _, command in
                command.count == 2 ? .bulk(command.bytes(at: 1)) : .simpleString("PONG")
            }),
        CommandSpecification(
            "echo", 2...2, .connection, usage: "message", "Answers with the message.",
            execute: { _, _, command in .bulk(command.bytes(at: 1)) }),
        CommandSpecification(
            "hello", 1...CommandTable.manyArguments, .connection,
            usage: "[2|3 [AUTH user password] [SETNAME name]]",
            "Agrees on the version of the protocol.", permission: .unauthenticated,
            execute: hello),
        CommandSpecification(
            "auth", 2...3, .connection, usage: "[user] password",
            "Gives the password.", permission: .unauthenticated,
            execute: { service, session, command in
                if try service.passwordGate.postpones(command, of: session, service) { return nil }
                try authenticate(
                    service, session, user: command.count == 3 ? command.text(at: 1) : "default",
                    password: command.bytes(at: command.count - 1))
                return .simpleString("OK")
            }),
        CommandSpecification(
            "client", 2...CommandTable.manyArguments, .connection,
            usage: "ID|INFO|LIST|GETNAME|SETNAME name|SETINFO key value|KILL ID n",
            "About the connections.", execute: client),
        CommandSpecification(
            "select", 2...2, .connection, usage: "0", "There is one database: 0.",
            execute: { _, _, command in
                guard command.integer(at: 1) == 0 else {
                    throw WireError(.err, "there is only database 0")
                }
                return .simpleString("OK")
            }),
        CommandSpecification(
            "reset", 1...1, .connection, "Makes the connection as new.",
            permission: [.unauthenticated, .inTransaction],
            execute: { service, session, _ throws(WireError) in
                service.reset(session)
                service.driver.stopWatching(session.number)
                return .simpleString("RESET")
            }),
        CommandSpecification(
            "quit", 1...1, .connection, "Closes the connection.",
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
        var version = session.writer.version
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
        if version == .two { service.driver.stopWatching(session.number) }
        return .map([
            entry("server", text("workerd")), entry("version", text(Service.version)),
            entry("proto", .integer(version.rawValue)),
            entry("id", .integer(Int(session.number))), entry("mode", text("standalone")),
            entry("role", text("master")), entry("modules", .array([])),
        ])
    }

    private static func authenticate(
        _ service: Service, _ session: Session, user: String, password: [UInt8]
    ) throws(WireError) {
        guard let expected = service.password else {
            if session.isAuthenticated {
                throw WireError(.err, "AUTH called without any password configured for this door")
            }
            return
        }
        guard user == "default", isEqual(password, expected) else {
            service.passwordGate.guessedWrong(session)
            throw WireError(.wrongPass, "invalid username-password pair or user is disabled.")
        }
        service.letIn(session)
    }

    /// Compares in a time that depends on the guess's length only.
    private static func isEqual(_ guess: [UInt8], _ password: [UInt8]) -> Bool {
        var difference = guess.count ^ password.count
        for (index, byte) in guess.enumerated() {
            difference |= Int(byte ^ password[index % max(1, password.count)])
        }
        return difference == 0 && !password.isEmpty
    }

    private static func client(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        if command.matches(1, "ID") { return .integer(Int(session.number)) }
        if command.matches(1, "GETNAME") {
            return session.name.isEmpty ? .null : text(session.name)
        }
        if command.matches(1, "INFO") { return text(describe(session)) }
        if command.matches(1, "LIST") {
            let lines = service.sessions.values.sorted { $0.number < $1.number }.map(describe)
            return .verbatim(format: "txt", Array(lines.joined().utf8))
        }
        if command.matches(1, "SETNAME"), command.count == 3 {
            session.name = try clientName(command, at: 2)
            return .simpleString("OK")
        }
        if command.matches(1, "SETINFO"), command.count == 4 { return .simpleString("OK") }
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
        throw WireError(
            .err,
            "CLIENT knows ID, INFO, LIST, GETNAME, SETNAME, SETINFO and KILL ID, not "
                + quoted(command.text(at: 1)))
    }

    private static func clientName(_ command: Command, at index: Int) throws(WireError) -> String {
        let isFine =
            command[index].allSatisfy { (33...126).contains($0) } && command[index].count <= 64
        guard isFine else {
            throw WireError(
                .err,
                "Client names cannot contain spaces, newlines or special characters, "
                    + "nor have more than 64 bytes.")
        }
        return command.text(at: index)
    }

    private static func describe(_ session: Session) -> String {
        let age = (WallClock.unixMilliseconds() - session.connectedAt) / 1_000
        return "id=\(session.number) addr=\(session.ends.client) laddr=\(session.ends.server) "
            + "name=\(session.name) age=\(age) cmd=\(session.lastCommand) cmds=\(session.commandCount) "
            + "pending=\(session.pendingReplyCount) omem=\(session.outputByteCount) "
            + "resp=\(session.writer.version.rawValue)\n"
    }
}
