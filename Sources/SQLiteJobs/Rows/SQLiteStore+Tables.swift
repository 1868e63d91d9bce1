// SQLite's tables as the journal uses them.

package import Jobs
internal import Journals

extension SQLiteStore: JournalTables {
    /// Nothing: the database is closed with the last reference to it.
    package func end(isWritten: Bool) {}

    package func listInTurn(
        _ queue: QueueName, in span: JobSpan, limit: Int, searched: inout JobID,
        where isWanted: (Job) -> Bool
    ) throws(StoreFault) -> [Job] {
        try listInTurn(
            queue, in: span, limit: limit, within: SearchLimits(), searched: &searched,
            where: isWanted)
    }

    package func listEnded(
        thread: String?, state: JobState?, in span: JobSpan, limit: Int, hasReasons: Bool
    ) throws(StoreFault) -> (jobs: [Job], searched: JobID) {
        try listEnded(
            thread: thread, state: state, in: span, limit: limit, hasReasons: hasReasons,
            within: SearchLimits())
    }
}
