// Descriptions of the daemons with one store.

internal import RESP

/// A daemon that serves, or that waits to take over.
public struct NodeDescription: Sendable, Equatable {
    /// Its name, by its configuration or that of its machine.
    public let name: String
    /// Whether it serves; otherwise it waits, and passes its clients on.
    public let serves: Bool
    /// Since when it serves or waits, in milliseconds since 1970-01-01 00:00 UTC.
    public let since: Int64?
    /// Whether it may begin jobs that are kept; nil for one that waits, and for another one that
    /// shares the threads.
    public let isTrusted: Bool?
    /// How often a daemon has taken the jobs of the store over, this one included; nil for one that
    /// waits, and if no other daemon can have the store.
    public let epoch: Int?
    /// The URL where others reach its Redis protocol; nil if it has told none.
    public let address: String?
    /// The URL where others reach its HTTP; nil if it has told none.
    public let http: String?
    /// The threads and pools that it has, if nodes share them; nil if one node has all.
    public let threads: [String]?
    /// Whether the node that was asked reaches it, if nodes share the threads: `ok`, or the reason
    /// why it does not; nil of that node itself, and before a link was tried.
    public let link: String?

    /// Whether the node that was asked reaches it, as far as that is known.
    public var isReached: Bool { link == nil || link == "ok" }
}

extension NodeDescription {
    init(_ reply: RESPValue) throws(WorkerClientError) {
        let fields = Fields(reply, of: "a node")
        name = try fields.text("name")
        serves = try fields.text("state") == "serves"
        since = fields.optionalTime("since")
        threads = fields.optionalTexts("threads")
        isTrusted = serves ? fields.optionalFlag("trusted") : nil
        epoch = fields.optionalInteger("epoch")
        address = fields.optionalText("address")
        http = fields.optionalText("http")
        link = fields.optionalText("link")
    }
}
