// The description of a job by the daemon.

internal import RESP

/// A job as the daemon lists it.
public struct JobSummary: Sendable, Equatable {
    /// Where a job is in its life; one that this version has no name for is passed through.
    public struct State: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// Its name on the wire.
        public let rawValue: String

        /// A state of this name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Waits for its time.
        public static let delayed = State(rawValue: "delayed")
        /// Waits for its buffer to be fired.
        public static let buffered = State(rawValue: "buffered")
        /// Waits for its thread.
        public static let waiting = State(rawValue: "waiting")
        /// A handler is at it.
        public static let running = State(rawValue: "running")
        /// A handler is at it, was to end it and does not listen.
        public static let stuck = State(rawValue: "stuck")
        /// Ended with a result.
        public static let done = State(rawValue: "done")
        /// Ended without one.
        public static let failed = State(rawValue: "failed")
        /// Ended because a client asked for it.
        public static let cancelled = State(rawValue: "cancelled")
        /// Ended because it had not begun in time.
        public static let expired = State(rawValue: "expired")
        /// All that can be listed by, in the order of a job's life; those that are running include
        /// the stuck ones.
        public static let all: [State] = [
            .delayed, .buffered, .waiting, .running, .stuck, .done, .failed, .cancelled,
            .expired,
        ]

        /// The name.
        public var description: String { rawValue }
    }

    /// Its number.
    public let id: UInt64
    /// The thread or pool that it is for.
    public let thread: String
    /// The name of its handler.
    public let selector: String
    /// Where it is in its life.
    public let state: State
    /// `high`, `normal` or `low`.
    public let priority: String
    /// How often it was begun, this time included.
    public let attempt: Int
    /// Its name for people; nil if its client gave no label.
    public let label: String?
    /// Its place in a trace, a `traceparent` of W3C; nil if its client gave none.
    public let trace: String?
    /// Why its latest attempt failed, of a job that is tried again; nil if the daemon does not
    /// know.
    public let lastFailure: String?
    /// Why it failed, at most 256 characters; nil if it did not, or if that was not asked for.
    public let failure: String?
    /// When it ended, in milliseconds since 1970-01-01 00:00 UTC; nil if it has not, or if failures
    /// were not asked for.
    public let endedAt: Int64?
}

/// Everything that the daemon tells of a job; times are milliseconds since 1970-01-01 00:00 UTC.
public struct JobDescription: Sendable, Equatable {
    /// The part that listings show.
    public let summary: JobSummary
    /// When it was accepted.
    public let acceptedAt: Int64
    /// When it was or is due; nil if at once, or when its buffer is fired.
    public let dueAt: Int64?
    /// When it ends if it has not begun by then; nil for never, and once it has begun.
    public let expiresAt: Int64?
    /// When it was begun; nil before that.
    public let startedAt: Int64?
    /// When it ended; nil before that.
    public let endedAt: Int64?
    /// The name of the thread that performs it; nil before it was begun.
    public let worker: String?
    /// The key in whose order it is, if it is text; nil without one.
    public let key: String?
    /// How many bytes its payload has.
    public let payloadByteCount: Int
    /// Why it failed; nil if it did not.
    public let failure: String?
    /// How far it is, from 0 to 1; nil if its handler does not say, and when it does not run.
    public let progress: Double?
    /// Its current step in words; nil if its handler does not say, and when it does not run.
    public let progressText: String?
    /// The arguments that its program gets beside the configured ones.
    public let arguments: [String]
    /// The variables that its program gets, each as `NAME=VALUE`.
    public let environment: [String]
    /// The blocking job behind which it waits; nil if it is not held up.
    public let holdUp: HoldUpDescription?
    /// The worker in another process that it waits for, such as `worker resize`; nil if it waits
    /// for none.
    public let waitsFor: String?
}

/// The output of the program of one attempt of a job.
public struct JobOutput: Sendable, Equatable {
    /// The number of the attempt, from 1 on.
    public let attempt: Int
    /// The attempts of which output is kept, the oldest first.
    public let attempts: [Int]
    /// The last 64 KB of its standard output; empty if it succeeded, as that is the result.
    public let output: [UInt8]
    /// The number of bytes that it has written to its standard output.
    public let outputByteCount: Int
    /// The last 64 KB of its standard error.
    public let errors: [UInt8]
    /// The number of bytes that it has written to its standard error.
    public let errorsByteCount: Int
}

extension JobOutput {
    init(_ reply: RESPValue) throws(WorkerClientError) {
        let fields = Fields(reply, of: "a job's output")
        attempt = try fields.integer("attempt")
        attempts = (reply["attempts"]?.elements ?? []).compactMap(\.integer)
        output = try fields.bytes("output")
        outputByteCount = try fields.integer("output-bytes")
        errors = try fields.bytes("errors")
        errorsByteCount = try fields.integer("errors-bytes")
    }
}

/// A job with `RETRY … BLOCK` that is tried again, and holds up others meanwhile.
public struct HoldUpDescription: Sendable, Equatable {
    /// The blocking job.
    public let jobID: UInt64
    /// When its next attempt is due, in milliseconds since 1970-01-01 00:00 UTC; nil while one
    /// waits or runs.
    public let until: Int64?
}

extension HoldUpDescription {
    /// Nil if nothing is held up.
    init?(_ fields: Fields) {
        guard let id = fields.optionalInteger("held-by") else { return nil }
        jobID = UInt64(clamping: id)
        until = fields.optionalTime("held-until")
    }
}

extension JobSummary {
    /// A row of a listing.
    init(_ reply: RESPValue) throws(WorkerClientError) {
        try self.init(Fields(reply, of: "a job"), isRow: true)
    }

    /// - Parameter isRow: whether it is of a listing: else the description has the failure.
    init(_ fields: Fields, isRow: Bool) throws(WorkerClientError) {
        id = UInt64(clamping: try fields.integer("id"))
        thread = try fields.text("thread")
        selector = try fields.text("selector")
        state = State(rawValue: try fields.text("state"))
        priority = try fields.text("priority")
        attempt = try fields.integer("attempt")
        label = fields.optionalText("label")
        trace = fields.optionalText("trace")
        lastFailure = fields.optionalText("last-failure")
        failure = isRow ? fields.optionalText("failure") : nil
        endedAt = isRow ? fields.optionalTime("ended-at") : nil
    }
}

extension JobDescription {
    init(_ reply: RESPValue) throws(WorkerClientError) {
        let fields = Fields(reply, of: "a job")
        summary = try JobSummary(fields, isRow: false)
        acceptedAt = try fields.time("accepted-at")
        dueAt = fields.optionalTime("due-at")
        expiresAt = fields.optionalTime("expires-at")
        startedAt = fields.optionalTime("started-at")
        endedAt = fields.optionalTime("ended-at")
        worker = fields.optionalText("worker")
        key = fields.optionalText("key")
        payloadByteCount = try fields.integer("payload-bytes")
        failure = fields.optionalText("failure")
        progress = fields.optionalFraction("progress")
        progressText = fields.optionalText("progress-text")
        arguments = (reply["args"]?.elements ?? []).compactMap(\.text)
        environment = (reply["env"]?.elements ?? []).compactMap(\.text)
        holdUp = HoldUpDescription(fields)
        waitsFor = fields.optionalText("waits-for")
    }
}
