// A transaction whose COMMIT was sent and not answered. Either the server is slow or stopped, and
// the answer comes later on the same connection; or the connection is lost, and the row of the seat
// tells once its lock is taken again.
//
// The journal's thread does not wait for that: it asks several times a second.

internal import Jobs
internal import Journals

/// A transaction whose COMMIT was sent.
///
/// - Thread: the journal's.
final class SentCommit {
    let number: Int64
    /// Nil once it is lost.
    var connection: ServerConnection?
    var isSent = false
    var sentAt = ContinuousClock.now
    /// Whether the server has confirmed it.
    var hasAnswer = false
    /// Whether the row of the seat says that it was committed.
    var isCommitted = false
    /// Whether it has changed nothing: then it does not matter whether it was committed.
    var isEmpty = false

    init(_ number: Int64, on connection: ServerConnection) {
        self.number = number
        self.connection = connection
    }
}

extension PostgreSQLStore {
    var mayBeUndecided: Bool { true }

    /// How long this thread waits for the answer to a COMMIT before it does other things.
    private static let commitPatience = Duration.seconds(1)

    /// Waits a while for the answer to a COMMIT.
    ///
    /// - Throws: `undecided` if it takes longer.
    func awaitAnswer(to commit: SentCommit) throws(StoreFault) {
        guard let connection = commit.connection else { throw Self.notYet(seat) }
        let patience = connection.patience
        if patience != nil { connection.patience = Self.commitPatience }
        defer { connection.patience = patience }
        do throws(ServerError) {
            try connection.synchronize()
        } catch {
            throw error.isLate ? Self.notYet(seat) : fault(of: error)
        }
    }

    static func notYet(_ seat: Seat) -> StoreFault {
        seat.fault(.undecided, "the database server does not answer")
    }

    /// Decides whether the transaction was committed whose answer is missing.
    ///
    /// - Returns: whether it was; then it counts as any other.
    /// - Throws: `undecided` if that can't be known yet; any other fault says that it was not.
    /// - Blocks: for a few hundred milliseconds at most.
    func decide() throws(StoreFault) -> Bool {
        guard let commit = undecided else { return false }
        do throws(StoreFault) {
            if let connection = commit.connection, try hasEnded(commit, on: connection) {
                undecided = nil
                try noteCommitted(commit)
                return true
            }
        } catch {
            // It is made anew.
            guard error.kind == .undone else { throw error }
            return false
        }
        do throws(StoreFault) {
            if !commit.isCommitted, try !seat.wasCommitted(commit.number) {
                undecided = nil
                kept.rollBack()
                share?.begin()
                return false
            }
            commit.isCommitted = true
            try noteCommitWithoutResults(commit.number)
            undecided = nil
            return true
        } catch {
            // A lost seat ends this daemon. Behind any other fault, such as a missing right, the
            // transaction may be committed: it stays undecided.
            guard ![.lost, .promoted].contains(error.kind) else {
                undecided = nil
                throw error
            }
            guard !commit.isEmpty else {
                undecided = nil
                kept.rollBack()
                throw error
            }
            throw seat.fault(.undecided, error.detail)
        }
    }

    /// Looks whether the answer has come.
    ///
    /// - Returns: false if the connection is lost.
    /// - Throws: `undecided` if it has not come; the server's error otherwise.
    private func hasEnded(
        _ commit: SentCommit, on connection: ServerConnection
    ) throws(StoreFault) -> Bool {
        let patience = connection.patience
        connection.patience = .zero
        defer { connection.patience = patience }
        do throws(ServerError) {
            try connection.goOn()
            return true
        } catch {
            if error.isLate { throw Self.notYet(seat) }
            let fault = fault(of: error)
            commit.connection = nil
            if fault.kind == .away, !isUndone { return false }
            undecided = nil
            kept.rollBack()
            throw rolledBack(on: connection, fault)
        }
    }

    /// The transaction was committed, and the results of its statements were lost.
    private func noteCommitWithoutResults(_ number: Int64) throws(StoreFault) {
        // They are read part by part: the next sign of life begins with that.
        try readKept()
        noteCommitWithoutAnswer(number)
    }

    /// Drops jobs that were accepted by a transaction after all, and refused to their clients.
    func drop(accepted jobs: [NewJob]) throws(StoreFault) {
        var parameters = Parameters()
        parameters.add(.numbers(jobs.map(\.job.id.number)))
        try change("DELETE FROM workerd.jobs WHERE id = ANY ($1::bigint[])", parameters)
        try change(
            "DELETE FROM workerd.unique_names WHERE job = ANY ($1::bigint[])", parameters)
        for job in jobs {
            if let submitted = job.submitted { try putBack(submitted) }
        }
    }
}
