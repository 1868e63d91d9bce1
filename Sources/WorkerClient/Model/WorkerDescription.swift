// Descriptions of workers in other processes by the daemon.

internal import RESP

/// A connection that serves selectors, or that held a job when it closed.
public struct WorkerDescription: Sendable, Equatable {
    /// The number of its connection; nil for one of before a restart of the daemon.
    public let client: UInt64?
    /// Its name; nil if it has none.
    public let name: String?
    /// Whether its connection is open.
    public let isConnected: Bool
    /// The process that connected; nil over TCP.
    public let processID: Int?
    /// The user of that process; nil over TCP.
    public let userID: Int?
    /// Since when it is a worker, in milliseconds since 1970-01-01 00:00 UTC.
    public let since: Int64?
    /// The selectors that it has asked for last.
    public let selectors: [String]
    /// The threads whose jobs are for it alone.
    public let ownThreads: [String]
    /// The jobs that it holds.
    public let jobs: [UInt64]
}

extension WorkerDescription {
    init(_ reply: RESPValue) throws(WorkerClientError) {
        let fields = Fields(reply, of: "a worker")
        client = fields.optionalInteger("client").map { UInt64(clamping: $0) }
        name = fields.optionalText("name")
        isConnected = fields.flag("connected")
        processID = fields.optionalInteger("pid")
        userID = fields.optionalInteger("uid")
        since = fields.optionalTime("since")
        selectors = (reply["selectors"]?.elements ?? []).compactMap(\.text)
        ownThreads = (reply["owns"]?.elements ?? []).compactMap(\.text)
        jobs = (reply["jobs"]?.elements ?? []).compactMap(\.integer).map { UInt64(clamping: $0) }
    }
}
