// Changes of users by a reload: new users, removed users, and new rights of the others.

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
