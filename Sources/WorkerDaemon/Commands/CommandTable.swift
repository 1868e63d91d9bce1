// The commands by name: the number of arguments, the permission needed, and the code of each.

internal import RESP
internal import Wording

/// A command as it is offered.
final class CommandSpecification: Sendable {
    /// When a command is executed although not everything is.
    struct Permission: OptionSet, Sendable {
        let rawValue: UInt8
        /// Before the client has given the password.
        static let unauthenticated = Permission(rawValue: 1)
        /// Between MULTI and the EXEC or DISCARD that ends it.
        static let inTransaction = Permission(rawValue: 2)
        /// Before another node has authenticated, on a connection that it has made.
        static let unauthenticatedNode = Permission(rawValue: 4)
    }

    /// The groups of commands in COMMAND DOCS.
    enum Group: String, Sendable {
        case jobs, workers, threads, connection, server
    }

    /// Answers at once with a value, or has it answered by its number, and then nil.
    typealias Execute = @Sendable (Service, Session, Command) throws -> RESPValue?

    /// In lower case.
    let name: String
    /// How many arguments, the name included.
    let arity: ClosedRange<Int>
    let group: Group
    /// The rights that it asks for.
    let access: Access
    let usage: String
    let summary: String
    let permission: Permission
    /// Where it is executed when several daemons work with one store.
    let route: CommandRoute
    let execute: Execute

    init(
        _ name: String, _ arity: ClosedRange<Int>, _ group: Group, _ access: Access,
        usage: String = "", _ summary: String, permission: Permission = [],
        execute: @escaping Execute
    ) {
        self.name = name
        self.arity = arity
        self.group = group
        self.access = access
        self.usage = usage
        self.summary = summary
        self.permission = permission
        route = CommandRoute.of(name)
        self.execute = execute
    }

    /// As Redis counts: negative for "at least".
    var redisArity: Int {
        arity.lowerBound == arity.upperBound ? arity.lowerBound : -arity.lowerBound
    }
}

/// All commands.
struct CommandTable {
    /// More arguments than any command takes.
    static let manyArguments = 1_024
    /// Older names of commands, which COMMAND LIST leaves out.
    private static let aliases = ["watch": "observe", "unwatch": "unobserve"]

    let all: [CommandSpecification]
    private let byName: [String: CommandSpecification]
    private let perform: CommandSpecification

    init() {
        all =
            JobCommands.all + FailureCommands.all + BulkCommands.all + WorkerCommands.all
            + WatchCommands.all + EventCommands.all + ScheduleCommands.all + ThreadCommands.all
            + ConnectionCommands.all + TransactionCommands.all
            + ServerCommands.all + NodeCommands.all + LinkCommands.all + UserCommands.all
        perform = JobCommands.performCommand
        var byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
        for (alias, name) in Self.aliases { byName[alias] = byName[name] }
        self.byName = byName
    }

    subscript(name: String) -> CommandSpecification? { byName[name] }

    /// Finds the command that a client named, and checks its arguments, the client's standing and
    /// its user's rights.
    ///
    /// The one place that does: requests of HTTP are commands too.
    ///
    /// - Returns: in a transaction, a stand-in for the command that answers `QUEUED`.
    func find(
        _ command: Command, for session: Session
    ) throws(WireError) -> CommandSpecification {
        // By far the most frequent one is found without making a string of its name.
        if command.matches(0, "PERFORM") { return try check(command, perform, session) }
        let name = command.text(at: 0).lowercased()
        guard let found = byName[name] else {
            if session.standing == .stranger { throw Self.authenticationRequired }
            throw WireError(.err, "unknown command \(quoted(name)); COMMAND LIST names them all")
        }
        return try check(command, found, session)
    }

    private func check(
        _ command: Command, _ found: CommandSpecification, _ session: Session
    ) throws(WireError) -> CommandSpecification {
        let standing = session.standing
        if standing == .stranger, !found.permission.contains(.unauthenticated),
            !session.isFromNode || !found.permission.contains(.unauthenticatedNode)
        {
            throw Self.authenticationRequired
        }
        guard found.arity.contains(command.count) else {
            let name = command.text(at: 0).lowercased()
            let usage = found.usage.isEmpty ? "" : "; usage: \(name.uppercased()) \(found.usage)"
            throw WireError(.err, "wrong number of arguments for '\(name)' command\(usage)")
        }
        if !session.user.mayDoAll {
            try found.access.check(
                command, named: found.name, session.user, isLinked: session.isLink)
        }
        if standing == .inTransaction, !found.permission.contains(.inTransaction) {
            return TransactionCommands.queued
        }
        return found
    }

    private static let authenticationRequired = WireError(
        .noAuth, "Authentication required: AUTH [user] password")
}

extension Command {
    /// The non-negative integer at a place, or an error that names its meaning.
    func count(at index: Int, _ what: String, max: Int) throws(WireError) -> Int {
        guard let value = integer(at: index), (0...max).contains(value) else {
            throw WireError(
                .err,
                "\(what) must be a whole number from 0 to \(max), is \(quoted(text(at: index)))")
        }
        return value
    }
}
