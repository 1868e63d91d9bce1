// A user: what it may do, and to which threads and selectors.

internal import Jobs

/// A user.
package final class User: Sendable {
    package let name: String
    package let roles: Roles
    /// Whether it sees payloads, results, failures, progress, output, keys and labels.
    package let seesPayloads: Bool
    /// The threads and selectors that it may touch.
    let scope: JobScope
    /// The digests of its secrets: two while they are changed.
    package let digests: [SecretDigest]
    /// Whether it may do everything: the one look that each command takes.
    let mayDoAll: Bool

    init(
        _ name: String, _ roles: Roles, seesPayloads: Bool, scope: JobScope,
        digests: [SecretDigest] = []
    ) {
        self.name = name
        self.roles = roles
        self.seesPayloads = seesPayloads
        self.scope = scope
        self.digests = digests
        mayDoAll = roles == .all && seesPayloads && scope.isAll
    }

    /// The user of workerd's own uid and root, and of the password and the key of the
    /// configuration.
    static let owner = User(defaultName, .all, seesPayloads: true, scope: .all)

    /// Stands for a client that has not authenticated.
    static let stranger = User("", [], seesPayloads: false, scope: .all)

    /// The name of `owner`, as Redis calls it.
    ///
    /// No user of a file has it.
    static let defaultName = "default"

    /// The patterns of the threads that it may touch.
    package var threadPatterns: [String] { scope.threads.map(\.description) }
    /// The patterns of the selectors that it may touch.
    package var selectorPatterns: [String] { scope.selectors.map(\.description) }

    /// Whether it may touch all threads and selectors.
    var touchesAll: Bool { scope.isAll }

    /// Whether a secret is one of its own, in a time that does not depend on the secret.
    func has(_ digest: SecretDigest) -> Bool {
        digests.reduce(false) { $1.isSame(as: digest) || $0 }
    }
}
