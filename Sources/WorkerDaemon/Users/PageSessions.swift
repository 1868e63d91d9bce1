// The way from a terminal into the page: a client with a user's rights asks for a ticket, the page
// changes the ticket for a key. Both are random, both are kept as digests, and both end.

internal import Kernel
internal import RunLoops

/// The tickets and the keys of the page.
///
/// Confined to its loop's thread.
final class PageSessions {
    /// How long a ticket is good for.
    static let ticketSeconds = 60
    /// How long a key is good for.
    private static let keyPatience = Duration.seconds(12 * 3_600)
    /// Tickets of one user at a time; the oldest one goes for another.
    static let ticketCountMax = 8
    /// Keys of one user at a time; the oldest one goes for another.
    static let keyCountMax = 16

    /// Secrets of one kind, the oldest first.
    private struct Secrets {
        private struct Entry {
            let digest: SecretDigest
            let user: User
            let end: Instant
        }

        private var entries: [Entry] = []

        /// Gives each user the rights that it has now; the secrets of removed users end.
        mutating func renew(_ present: (User) -> User?) {
            entries = entries.compactMap { entry in
                present(entry.user).map {
                    Entry(digest: entry.digest, user: $0, end: entry.end)
                }
            }
        }

        mutating func add(_ digest: SecretDigest, of user: User, until end: Instant, max: Int) {
            let own = entries.indices.filter { entries[$0].user.name == user.name }
            if own.count >= max, let oldest = own.first { entries.remove(at: oldest) }
            entries.append(Entry(digest: digest, user: user, end: end))
        }

        /// The user of a secret that has not ended.
        ///
        /// Looks at each, so that the time tells nothing of them.
        mutating func find(_ digest: SecretDigest, at now: Instant, removing: Bool) -> User? {
            entries.removeAll { $0.end <= now }
            var place: Int?
            for (index, entry) in entries.enumerated() where entry.digest.isSame(as: digest) {
                place = index
            }
            guard let place else { return nil }
            let user = entries[place].user
            if removing { entries.remove(at: place) }
            return user
        }
    }

    private let loop: ThreadRunLoop
    private var tickets = Secrets()
    private var keys = Secrets()

    init(on loop: ThreadRunLoop) { self.loop = loop }

    /// Gives each user the rights that it has now; tickets and keys of removed users end.
    func renew(_ present: (User) -> User?) {
        tickets.renew(present)
        keys.renew(present)
    }

    /// A new ticket for a user.
    ///
    /// - Throws: where the kernel has no random numbers.
    func makeTicket(for user: User) throws(SystemError) -> String {
        let ticket = try Secret.make()
        tickets.add(
            SecretDigest(of: Array(ticket.utf8)), of: user,
            until: loop.now.advanced(by: .seconds(Self.ticketSeconds)), max: Self.ticketCountMax)
        return ticket
    }

    /// Takes a ticket for a new key.
    ///
    /// - Returns: nil if there is no such ticket, or not any more.
    /// - Throws: where the kernel has no random numbers.
    func makeKey(for ticket: [UInt8]) throws(SystemError) -> (key: String, user: User)? {
        let found = tickets.find(SecretDigest(of: ticket), at: loop.now, removing: true)
        guard let user = found else { return nil }
        let key = try Secret.make()
        keys.add(
            SecretDigest(of: Array(key.utf8)), of: user,
            until: loop.now.advanced(by: Self.keyPatience), max: Self.keyCountMax)
        return (key, user)
    }

    /// The user of a key that has not ended.
    func user(ofKey key: [UInt8]) -> User? {
        keys.find(SecretDigest(of: key), at: loop.now, removing: false)
    }
}
