// The users of a daemon, and what each proves itself with: a secret of the users file, the password
// or key of the configuration, or the user id of its process.

/// The users of a daemon.
package struct UserBook: Sendable {
    /// The users of the file, by their names; nil if there is no file.
    let users: [String: User]?
    /// The password of `User.owner` for clients of the Redis protocol.
    let password: [UInt8]?
    /// The key of `User.owner` for requests of HTTP.
    let key: [UInt8]?
    /// The users of processes, by user ids.
    let peers: [UInt32: User]

    /// - Parameters:
    ///   - users: the users of a file; nil if there is none.
    ///   - peers: the users whose rights the processes of user ids have.
    package init(
        users: [User]? = nil, peers: [UInt32: User] = [:], password: [UInt8]? = nil,
        key: [UInt8]? = nil
    ) {
        self.users = users.map { Dictionary(uniqueKeysWithValues: $0.map { ($0.name, $0) }) }
        self.peers = peers
        self.password = password
        self.key = key
    }

    /// Whether a client can authenticate as a user of a file.
    var hasFile: Bool { users != nil }

    /// Whether AUTH is of any use.
    var hasPasswords: Bool { users != nil || password != nil }

    /// Whether a key of HTTP is of any use.
    var hasKeys: Bool { users != nil || key != nil }

    /// The users by their names, in order: the one of the configuration first.
    var all: [User] { [.owner] + (users ?? [:]).values.sorted { $0.name < $1.name } }

    /// The user of a name with this password or secret; nil if it is wrong.
    func user(named name: String, password guess: [UInt8]) -> User? {
        if name == User.defaultName {
            return password.map { PasswordGate.isEqual(guess, $0) } == true ? .owner : nil
        }
        let digest = SecretDigest(of: guess)
        guard let user = users?[name], user.has(digest) else { return nil }
        return user
    }

    /// The user whose secret, or key of the configuration, this is.
    ///
    /// Looks at each secret, so that the time tells nothing of them.
    func user(ofKey guess: [UInt8]) -> User? {
        var found: User?
        if let key, PasswordGate.isEqual(guess, key) { found = .owner }
        guard let users else { return found }
        let digest = SecretDigest(of: guess)
        for user in users.values where user.has(digest) { found = user }
        return found
    }

    /// The user of a client that has come in through a Unix socket; nil if it has to authenticate.
    ///
    /// - Parameter ends: with the process, whose user id it can't choose.
    func user(of ends: PeerInfo, dialect: Dialect) -> User? {
        if ends.isOwner { return .owner }
        if let id = ends.process?.userID, let user = peers[id] { return user }
        // Without a users file, the mode of the socket is the rule; HTTP has its key.
        return hasFile || dialect == .requests ? nil : .owner
    }
}

extension UserBook {
    /// The changes from these users to others, in words that tell no secret.
    func changes(to other: UserBook) -> [String] {
        var lines: [String] = []
        if let password, let new = other.password, password != new {
            lines.append("listen.passwordFile: another password")
        }
        if let key, let new = other.key, key != new {
            lines.append("listen.http.keyFile: another key")
        }
        let (before, after) = (users ?? [:], other.users ?? [:])
        for name in Set(before.keys).union(after.keys).sorted() {
            switch (before[name], after[name]) {
            case (nil, _): lines.append("user \(name): added")
            case (_, nil): lines.append("user \(name): removed")
            case (let user?, let new?):
                if !user.hasRights(of: new) { lines.append("user \(name): other rights") }
                if user.digests != new.digests { lines.append("user \(name): other secrets") }
            }
        }
        return lines
    }

    /// The user of a connection that has come in, as it is now; nil if there is none any more.
    func present(_ user: User) -> User? {
        guard user !== User.owner, user !== User.stranger else { return user }
        return users?[user.name]
    }
}

extension User {
    /// Whether another user may do the same.
    func hasRights(of other: User) -> Bool {
        roles == other.roles && seesPayloads == other.seesPayloads && scope == other.scope
    }
}
