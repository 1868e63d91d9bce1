// Commands about the daemon as a whole.

internal import RESP
internal import Wording

enum ServerCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "info", 1...32, .server, .observe, usage: "[section …]",
            "The daemon in figures.",
            execute: { service, session, command in
                let wanted = Set((1..<command.count).map { command.text(at: $0).lowercased() })
                return .verbatim(
                    format: "txt", Array(service.information(wanted, session.user).utf8))
            }),
        CommandSpecification(
            "command", 1...CommandTable.manyArguments, .server, .anyUser,
            usage: "[COUNT | LIST | INFO [name …] | DOCS [name …]]", "The commands there are.",
            execute: command),
        CommandSpecification(
            "config", 2...CommandTable.manyArguments, .server, .observe, usage: "GET pattern",
            "Settings, as far as Redis's tools ask for them.", execute: config),
        CommandSpecification(
            "shutdown", 1...2, .server, .operate(showing: 1).ofAllThreads, usage: "[DRAIN|NOW]",
            "Ends the daemon: after the running jobs, after all waiting ones, or now.",
            execute: shutdown),
        CommandSpecification(
            "backup", 2...3, .server, .operate(showing: 2).ofAllThreads, usage: "name [REPLACE]",
            "Copies the file of jobs into the directory of backups while it is served. Answers "
                + "with the copy's path when it is on the disk.",
            execute: backup),
        CommandSpecification(
            "reload", 1...2, .server, .operate(showing: 1).ofAllThreads, usage: "[DRY]",
            "Reads the configuration file again and applies what has changed. Answers with the "
                + "changes, a line each, when all are applied; with DRY without applying any.",
            execute: reload),
    ]

    private static func command(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let table = service.commands
        let named = (2..<max(2, command.count)).map { command.text(at: $0).lowercased() }
        if command.count == 1 { return .array(table.all.map(describe)) }
        if command.matches(1, "COUNT") { return .integer(table.all.count) }
        if command.matches(1, "LIST") { return .array(table.all.map { text($0.name) }) }
        if command.matches(1, "INFO") {
            let chosen = named.isEmpty ? table.all : named.compactMap { table[$0] }
            return .array(chosen.map(describe))
        }
        if command.matches(1, "DOCS") {
            let chosen = named.isEmpty ? table.all : named.compactMap { table[$0] }
            return .map(chosen.map { entry($0.name, document($0)) })
        }
        throw WireError(
            .err, "COMMAND knows COUNT, LIST, INFO and DOCS, not \(quoted(command.text(at: 1)))")
    }

    /// As Redis describes a command: name, arity, flags, first and last key, step.
    private static func describe(_ command: CommandSpecification) -> RESPValue {
        .array([
            text(command.name), .integer(command.redisArity), .array([]), .integer(0), .integer(0),
            .integer(0),
        ])
    }

    private static func document(_ command: CommandSpecification) -> RESPValue {
        .map([
            entry("summary", text(command.summary)), entry("since", text("0.1.0")),
            entry("group", text(command.group.rawValue)),
            entry("usage", text("\(command.name.uppercased()) \(command.usage)")),
            entry("arguments", .array(UsageWord.words(of: command.usage).map(describe))),
        ])
    }

    /// Describes an argument as Redis does; redis-cli makes its hints of it.
    private static func describe(_ word: UsageWord) -> RESPValue {
        // redis-cli ends itself if a flag is no simple string.
        let flags = word.isOptional ? [entry("flags", .array([.simpleString("optional")]))] : []
        return .map([entry("name", text(word.name)), entry("type", text("string"))] + flags)
    }

    private static func config(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        guard command.matches(1, "GET"), command.count > 2 else {
            throw WireError(
                .err, "CONFIG knows GET only: settings come from the configuration file")
        }
        let limits = service.configuration.limits
        // redis-benchmark asks for the first two.
        let settings: [(String, String)] = [
            ("save", ""), ("appendonly", "no"), ("databases", "1"),
            ("maxclients", "\(limits.connections)"),
            ("proto-max-bulk-len", "\(limits.payloadBytes)"),
        ]
        let wanted = (2..<command.count).map { command.text(at: $0).lowercased() }
        return .map(
            settings.filter { name, _ in wanted.contains("*") || wanted.contains(name) }
                .map { entry($0.0, text($0.1)) })
    }

    private static func shutdown(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let modes: [String: ShutdownMode] = ["DRAIN": .finishWaiting, "NOW": .now]
        let word = try word(at: 1, of: command, "SHUTDOWN [DRAIN|NOW]", among: modes.keys)
        service.log.notice(
            "client \(session.number) asks for SHUTDOWN\(word.map { " \($0)" } ?? "")")
        // As Redis does: no answer, the connection closes when the daemon is down.
        _ = session.reserve()
        service.askForShutdown(word.flatMap { modes[$0] } ?? .finishRunning)
        return nil
    }

    private static func backup(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let name = command.text(at: 1)
        let replaces =
            try word(at: 2, of: command, "BACKUP name [REPLACE]", among: ["REPLACE"]) != nil
        service.backups.make(name, replaces: replaces, session.reserve())
        service.log.notice("client \(session.number) asks for BACKUP \(name)")
        return nil
    }

    private static func reload(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let isDry = try word(at: 1, of: command, "RELOAD [DRY]", among: ["DRY"]) != nil
        let reply = session.reserve()
        service.reloads.reload(
            Reloads.Order(isDry: isDry, origin: "client \(session.number)") {
                [unowned service] result in
                switch result {
                case .success(let lines): service.answer(reply, .array(lines.map { text($0) }))
                case .failure(let error): service.answer(reply, error.reply)
                }
            })
        return nil
    }

    /// The option at the end of a command, in upper case; nil without one.
    ///
    /// - Throws: that it is none of the command's.
    private static func word(
        at index: Int, of command: Command, _ usage: String, among words: some Sequence<String>
    ) throws(WireError) -> String? {
        guard index < command.count else { return nil }
        let word = command.text(at: index).uppercased()
        guard words.contains(word) else {
            throw WireError(.err, "\(usage): what is \(quoted(command.text(at: index)))?")
        }
        return word
    }
}
