// The limits of one connection.

internal import RESP

/// The limits of one connection.
struct SessionLimits {
    let command: CommandLimits
    /// Replies that may be outstanding before the session stops reading.
    let pendingReplyCountMax: Int
    /// Bytes that may wait for the client before the session stops reading.
    let outputByteCountSoftMax: Int
    /// Bytes that may wait for the client before it is taken for one that never reads.
    let outputByteCountMax: Int
}
