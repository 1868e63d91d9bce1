// News of an observed job, which the daemon sends unasked.

internal import RESP

/// The state of a watched job, as the daemon pushes it.
public struct JobNews: Sendable, Equatable {
    /// Its number.
    public let id: UInt64
    /// Where it is in its life.
    public let state: JobSummary.State
    /// How often it was begun, this time included.
    public let attempt: Int
    /// The name of the thread that performs it, or did last; nil before it was begun.
    public let worker: String?
    /// How far it is, from 0 to 1; nil if its handler does not say, and when it does not run.
    public let progress: Double?
    /// Its current step in words; nil if its handler does not say, and when it does not run.
    public let progressText: String?
    /// The bytes of standard output that its program has written so far; nil if it has written
    /// nothing, and for observers that did not ask for output.
    package let outputByteCount: Int?
    /// The same of standard error.
    package let errorsByteCount: Int?
    /// Why it failed; nil if it did not.
    public let failure: String?
    /// Why its latest attempt failed, while it waits for the next one.
    public let lastFailure: String?

    /// Whether it has ended: nothing follows.
    public var isFinal: Bool { [.done, .failed, .cancelled, .expired].contains(state) }
}

extension JobNews {
    /// - Returns: nil if a push is about something else.
    init?(_ push: RESPValue) throws(WorkerClientError) {
        guard case .push(let parts) = push, parts.count >= 4, parts[0].text == "job",
            let number = parts[1].integer
        else { return nil }
        guard let state = parts[2].text else { throw Read.unexpected(parts[2], "a state") }
        let fields = Fields(parts[3], of: "a watched job")
        id = UInt64(clamping: number)
        self.state = JobSummary.State(rawValue: state)
        attempt = try fields.integer("attempt")
        worker = fields.optionalText("worker")
        progress = fields.optionalFraction("progress")
        progressText = fields.optionalText("progress-text")
        outputByteCount = fields.optionalInteger("output-bytes")
        errorsByteCount = fields.optionalInteger("errors-bytes")
        failure = fields.optionalText("failure")
        lastFailure = fields.optionalText("last-failure")
    }
}
