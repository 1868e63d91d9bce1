// The command by which another node says for whom it asks. Nodes alone send it, on connections that
// begin with the mark of a relay.

internal import Jobs
internal import RESP
internal import Wording

enum LinkCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "link", 2...CommandTable.manyArguments, .connection, .anyUser,
            usage: "secret user | THREADS [pool] | UNWATCHED JOBS id [id …]",
            "For other nodes with this store: gives the connection the rights of a user, and "
                + "answers with its number; tells the sum of the threads that are served here; or "
                + "which of some jobs the client does not watch here.",
            permission: .unauthenticatedNode, execute: link)
    ]

    /// Asks for the sum of the threads that a node serves, or of the slots of a pool among them.
    static func sum(of pool: String?) -> Command {
        Command((["LINK", "THREADS"] + (pool.map { [$0] } ?? [])).map { Array($0.utf8) })
    }

    /// Asks which of some jobs the client does not watch at a node.
    ///
    /// It never has three words, which an earlier version takes for a secret and a user.
    static func unwatched(_ ids: [JobID]) -> Command {
        Command(
            (["LINK", "UNWATCHED", "JOBS"] + ids.map { "\($0.number)" }).map { Array($0.utf8) })
    }

    private static func link(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        guard session.isFromNode else {
            throw WireError(.err, "LINK is for other nodes: clients authenticate with AUTH")
        }
        guard let owners = service.owners else {
            throw WireError(.err, "LINK is for nodes that work together: this daemon works alone")
        }
        if session.isLink, command.count > 3, command.matches(1, "UNWATCHED") {
            let ids = try (3..<command.count).map { try JobCommands.id(command, at: $0) }
            let watches = service.driver.scheduler.audience.watches
            let new = ids.filter { !watches.isWatched($0, by: session.number) }
            return .array(new.map { .integer(Int(clamping: $0.number)) })
        }
        if session.isLink, command.count < 4, command.matches(1, "THREADS") {
            return .integer(owners.servedSum(of: command.count > 2 ? command.text(at: 2) : nil))
        }
        guard command.count == 3 else { throw WireError(.err, "LINK needs a secret and a user") }
        guard PasswordGate.isEqual(command.bytes(at: 1), Array(owners.linkSecret.utf8)) else {
            if owners.isLinkSecretKnown {
                service.warningOfLinks.happened(from: session.ends.client)
            }
            session.closeWhenAnswered()
            throw WireError(.wrongPass, "this is not the secret of the node's links")
        }
        let name = command.text(at: 2)
        guard let user = service.users.user(named: name) else {
            // Nothing behind it is executed: it would have another user's rights.
            session.closeWhenAnswered()
            throw WireError(
                .noPerm,
                "node \(service.nodeName) knows no user \(quoted(name)): its users file must have "
                    + "the users of all nodes")
        }
        session.isLink = true
        service.letIn(session, as: user)
        return .integer(Int(session.number))
    }
}

extension UserBook {
    /// The user of a name; nil if there is none.
    func user(named name: String) -> User? {
        name == User.defaultName ? .owner : users?[name]
    }
}
