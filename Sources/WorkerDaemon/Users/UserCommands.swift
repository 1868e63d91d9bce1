// Commands about users: who a client is, the way into the page, and what operators did.

internal import Jobs
internal import RESP
internal import Wording

enum UserCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "acl", 2...3, .connection, .anyUser.except(["list": .oversee, "users": .oversee]),
            usage: "WHOAMI|CAT [role]|USERS|LIST",
            "The client's user, the roles and their commands, the users.", execute: acl),
        CommandSpecification(
            "page", 1...1, .connection, .anyUser,
            "Makes a ticket for the page, good once and for a minute: its address, and itself.",
            execute: page),
        CommandSpecification(
            "operations", 1...2, .server, .oversee.ofAllThreads, usage: "[count]",
            "What operators did, the newest first.", execute: operations),
    ]

    private static func acl(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        if command.matches(1, "CAT") { return try categories(service, command) }
        if command.count == 2 {
            if command.matches(1, "WHOAMI") { return text(session.user.name) }
            if command.matches(1, "USERS") {
                return .array(service.users.all.map { text($0.name) })
            }
            if command.matches(1, "LIST") {
                return .array(service.users.all.map { text(rule(of: $0)) })
            }
        }
        throw WireError(
            .err,
            "ACL knows WHOAMI, CAT [role], USERS and LIST, not \(quoted(command.text(at: 1))): "
                + "users are in the users file")
    }

    /// The roles; or the commands of one.
    private static func categories(
        _ service: Service, _ command: Command
    ) throws(WireError) -> RESPValue {
        guard command.count == 3 else { return .array(Roles.allNames.map(text)) }
        let name = command.text(at: 2).lowercased()
        guard let role = Roles(named: name) else {
            throw WireError(
                .err,
                "there is no role \(quoted(name)); roles: \(Roles.allNames.joined(separator: ", "))"
            )
        }
        let all = service.commands.all.flatMap { command in
            [(command.name, command.access)]
                + command.access.subcommands.sorted { $0.key < $1.key }
                .map { ("\(command.name)|\($0.key)", $0.value) }
        }
        return .array(all.filter { $0.1.roles.contains(role) }.map { text($0.0) })
    }

    /// A user as Redis describes one: threads are its keys, roles its categories.
    private static func rule(of user: User) -> String {
        let threads = user.scope.threads.map { "~\($0)" }
        let selectors = user.scope.selectors.map { "%\($0)" }
        let roles = user.roles.names.map { "+@\($0)" }
        let words = threads + selectors + roles + (user.seesPayloads ? ["+payloads"] : [])
        return (["user", user.name, "on"] + words).joined(separator: " ")
    }

    private static func page(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let http = service.configuration.listen.http
        guard let address = http.tcp else {
            throw WireError(
                .err, "there is no page without listen.http.tcp in the configuration")
        }
        // The address of all networks is none of this machine.
        let isAnywhere = address.octets.allSatisfy { $0 == 0 }
        let host = isAnywhere ? "\(http.names.first ?? "127.0.0.1"):\(address.port)" : "\(address)"
        let ticket = try service.pages.makeTicket(for: session.user)
        return .map([
            entry("url", text("\(http.scheme)://\(host)/#ticket=\(ticket)")),
            entry("ticket", text(ticket)),
            entry("seconds", .integer(PageSessions.ticketSeconds)),
        ])
    }

    private static func operations(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let countMax = OperationLog.countMax
        let count = command.count == 1 ? countMax : try command.count(at: 1, "count", max: countMax)
        return .array(service.operations.newest(count).map { .map($0.entries) })
    }
}
