// The link to the store: the commands that it has not answered yet.

/// The unanswered commands of a scheduler to its store.
package struct StoreLink {
    /// Whether a store keeps jobs; without one, every command is answered at once.
    let isKeeping: Bool
    package internal(set) var commits = CommitQueue()
    package internal(set) var inquiries = Inquiries()

    init(isKeeping: Bool) { self.isKeeping = isKeeping }

    /// Forgets all that is under way: no answer is awaited any more.
    mutating func removeAll() {
        commits.removeAll()
        inquiries.removeAll()
    }
}
