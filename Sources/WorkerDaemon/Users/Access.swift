// The rights that a command asks for. Each command of the table has an `Access`, so that no new one
// can be without; the table checks it for both doors.

internal import Jobs
internal import RESP
internal import Wording

/// The rights that a command asks for.
struct Access: Sendable {
    /// The roles of which a user needs one; empty if the command needs none.
    let roles: Roles
    /// Further roles of which one suffices over a link.
    ///
    /// The client's node has checked the command that the client has sent.
    private var linkRoles: Roles = []
    /// Whether a user needs the right `payloads` too.
    private(set) var needsPayloads = false
    /// Whether it affects all threads and selectors, so that a user has to be allowed to touch all.
    private(set) var isForAllThreads = false
    /// How many leading arguments the log of operations shows; nil for a command that is not
    /// logged.
    ///
    /// The others may be payloads.
    private(set) var shownCount: Int?
    /// The rights of those subcommands that need others, by their names in lower case.
    private(set) var subcommands: [String: Access] = [:]

    private init(_ roles: Roles) { self.roles = roles }

    /// For every client that has authenticated.
    static let anyUser = Access([])
    static let observe = Access(.observe)
    static let submit = Access(.submit)
    static let work = Access(.work)
    /// For operators; it only shows something, and is not logged.
    static let oversee = Access(.operate)

    /// For operators; it is logged.
    ///
    /// - Parameter shownCount: how many leading arguments the log shows: none with a payload.
    static func operate(showing shownCount: Int) -> Access {
        var access = Access(.operate)
        access.shownCount = shownCount
        return access
    }

    /// The same, also for other roles.
    func or(_ others: Roles) -> Access {
        var access = Access(roles.union(others))
        access.shownCount = shownCount
        return access
    }

    /// The same, also for other roles over a link.
    func orOnLinks(_ others: Roles) -> Access {
        var access = self
        access.linkRoles = others
        return access
    }

    /// The same, and the right `payloads`.
    var withPayloads: Access {
        var access = self
        access.needsPayloads = true
        return access
    }

    /// The same, for users that may touch all threads and selectors.
    var ofAllThreads: Access {
        var access = self
        access.isForAllThreads = true
        return access
    }

    /// The same, and it is logged.
    func logged(showing shownCount: Int) -> Access {
        var access = self
        access.shownCount = shownCount
        return access
    }

    /// The same, with other rights for some subcommands.
    func except(_ subcommands: [String: Access]) -> Access {
        var access = self
        access.subcommands = subcommands
        return access
    }

    /// Whether it may be logged: the look that each command takes.
    var mayBeLogged: Bool { shownCount != nil || !subcommands.isEmpty }

    /// The rights that a command asks for with its arguments.
    func of(_ command: Command) -> Access {
        guard !subcommands.isEmpty, command.count > 1 else { return self }
        return subcommands[command.text(at: 1).lowercased()] ?? self
    }

    /// Refuses a command whose user lacks a right.
    ///
    /// - Parameter isLinked: whether another node has sent it for its client.
    func check(
        _ command: Command, named name: String, _ user: User, isLinked: Bool = false
    ) throws(WireError) {
        guard !subcommands.isEmpty, command.count > 1 else {
            return try check(name, user, isLinked: isLinked)
        }
        let word = command.text(at: 1).lowercased()
        guard let access = subcommands[word] else {
            return try check(name, user, isLinked: isLinked)
        }
        try access.check("\(name)|\(word)", user, isLinked: isLinked)
    }

    /// Refuses something of this name to a user that lacks a right.
    func check(_ name: String, _ user: User, isLinked: Bool = false) throws(WireError) {
        let sufficing = isLinked ? roles.union(linkRoles) : roles
        if !roles.isEmpty, sufficing.isDisjoint(with: user.roles) {
            throw Self.refusal(user, name, "it needs the role \(roles)")
        }
        if isForAllThreads, !user.touchesAll {
            throw Self.refusal(
                user, name, "it affects threads and selectors that the user may not touch")
        }
        if needsPayloads { try user.checkSeesPayloads(name) }
    }

    fileprivate static func refusal(_ user: User, _ command: String, _ reason: String) -> WireError
    {
        WireError(
            .noPerm,
            "User \(user.name) has no permissions to run the '\(command)' command: \(reason)")
    }
}

extension User {
    /// Refuses a command that shows payloads, or such.
    func checkSeesPayloads(_ command: String) throws(WireError) {
        guard !seesPayloads else { return }
        throw Access.refusal(self, command, "it needs the right payloads")
    }

    /// Refuses a thread that the user may not touch.
    func check(thread name: String) throws(WireError) {
        guard !mayDoAll, !scope.has(thread: name) else { return }
        throw WireError(
            .noPerm,
            "User \(self.name) has no permissions to access the thread "
                + quoted(PoolSlot.shown(name)))
    }

    /// Refuses a selector that the user may not touch.
    func check(selector name: String) throws(WireError) {
        guard !mayDoAll, !scope.has(selector: name) else { return }
        throw WireError(
            .noPerm, "User \(self.name) has no permissions to access the selector \(quoted(name))")
    }

    /// Refuses a thread or a selector that the user may not touch.
    func check(thread: String, selector: String) throws(WireError) {
        try check(thread: thread)
        try check(selector: selector)
    }
}
