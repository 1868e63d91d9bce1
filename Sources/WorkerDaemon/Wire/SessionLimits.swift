// The limits of one connection.

internal import RESP

/// The limits of one connection.
struct SessionLimits {
    let command: CommandLimits
    /// The longest body of a request of HTTP.
    let bodyByteCountMax: Int
    /// Replies that may be outstanding before the session stops reading.
    var pendingReplyCountMax: Int
    /// Bytes that may wait for the client before the session stops reading.
    var outputByteCountSoftMax: Int
    /// Bytes that may wait for the client before it is taken for one that never reads.
    let outputByteCountMax: Int

    /// The limits of a connection of HTTP.
    var ofRequests: SessionLimits {
        var limits = self
        limits.pendingReplyCountMax = HTTPConversation.pendingCountMax
        limits.outputByteCountSoftMax = min(
            limits.outputByteCountSoftMax, HTTPConversation.unreadByteCountMax)
        return limits
    }
}

/// The protocol of a connection.
enum Dialect: Sendable {
    /// The Redis protocol.
    case commands
    /// HTTP.
    case requests

    /// The name of its doors in figures.
    var doorName: String { self == .commands ? "redis" : "http" }
}
