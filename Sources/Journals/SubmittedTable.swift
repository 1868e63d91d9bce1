// The table of a store in which others submit jobs.

package import Jobs

/// Jobs that were submitted in a store, and are not accepted yet.
///
/// - Thread: the journal's.
/// - Blocks: for the database server.
package protocol SubmittedTable: AnyObject {
    /// Has `watch` called with a descriptor that is readable when there may be news, and with nil
    /// before it is closed; now, and whenever it is another one.
    func watch(_ watch: @escaping (CInt?) -> Void)

    /// Whether news has come with the results of a transaction.
    var hasNews: Bool { get }

    /// Reads news from the descriptor.
    ///
    /// - Returns: whether there was some.
    func takeNews() throws(StoreFault) -> Bool

    /// Looks for jobs.
    ///
    /// - Parameters:
    ///   - busy: threads whose jobs are left out.
    ///   - isPolling: whether neither news nor an accepted job is the reason for this look.
    /// - Returns: some of the jobs, the ones submitted first; if there are none, the time after
    ///   which to look again without news.
    func look(
        without busy: Set<String>, isPolling: Bool
    ) throws(StoreFault) -> (jobs: [SubmittedJob], pause: Duration)

    /// Tries jobs again that were refused: with the next look.
    func tryRefusedAgain()

    // MARK: - Changes, within a transaction

    /// Whether a job is still to be accepted; another scheduler may have accepted it.
    func isThere(_ job: SubmittedJob) throws(StoreFault) -> Bool

    /// A job is accepted.
    func remove(_ job: SubmittedJob) throws(StoreFault)

    /// Jobs were not accepted.
    func settle(_ answer: SubmittedAnswer) throws(StoreFault)
}
