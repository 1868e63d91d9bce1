// What is under way between the scheduler and its store.

/// The commands that the store has not answered yet.
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
