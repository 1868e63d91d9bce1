// A store that is a journal: it hands its commands to the journal's thread.

package import Jobs

/// A store whose jobs a journal writes.
package protocol JournalStore: JobStore {
    var journal: JournalThread { get }
}

extension JournalStore {
    /// As `isTrusted`, and the journal is not too far behind.
    package func mayBegin(_ id: UInt64, attempt: Int) -> Bool { isTrusted && journal.mayBegin }

    package func add(_ command: consuming StoreCommand) { journal.add(command) }

    package func fire() { journal.fire() }

    package func record(_ command: consuming StoreCommand) { journal.record(command) }

    package func noteStart(_ id: UInt64, _ attempt: Attempt) { journal.noteStart(id, attempt) }

    @discardableResult
    package func noteDone(_ id: UInt64, attempt: Int, result: [UInt8]) -> Bool {
        journal.noteDone(id, attempt: attempt, result: result)
    }

    package func noteHolder(_ id: UInt64, attempt: Int, _ holder: JobHolder?) {
        journal.noteHolder(id, attempt: attempt, holder)
    }
}
