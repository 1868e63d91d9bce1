// A job as its worker sees it, and the error with which a worker fails it.

internal import Kernel
internal import RESP
internal import Synchronization

/// A job that this process has taken, for the handler of `serve`.
public struct ServedJob: Sendable {
    /// Its number.
    public let id: UInt64
    /// The thread that is occupied by it.
    public let thread: String
    /// Which of the served selectors it is for.
    public let selector: String
    /// How often it was begun, this time included.
    public let attempt: Int
    /// The time that was left until its time limit when it was taken; nil if it has none.
    public let timeLeft: Duration?
    /// Its label; nil if it has none.
    public let label: String?
    /// The place of its submit in a trace, as a `traceparent`
    /// (https://www.w3.org/TR/trace-context/#traceparent-header); nil if it has none.
    public let trace: String?
    /// Its payload.
    public let payload: [UInt8]
    private let delivery: HeldDelivery

    init(_ taken: TakenJob, _ delivery: HeldDelivery) {
        id = taken.id
        thread = taken.thread
        selector = taken.selector
        attempt = taken.attempt
        timeLeft = taken.timeLeft
        label = taken.label
        trace = taken.trace
        payload = taken.payload
        self.delivery = delivery
    }

    /// Shows how far the job is, as `JOB` and `OBSERVE` tell.
    ///
    /// Without a connection it shows nothing and returns.
    ///
    /// - Parameters:
    ///   - fraction: from 0 to 1.
    ///   - text: the current step; empty for none.
    /// - Throws: `CancellationError` if the job is to stop; its task is cancelled then.
    /// - Thread: any task.
    public func report(_ fraction: Double, _ text: String = "") async throws {
        try Task.checkCancellation()
        try await delivery.report(fraction, text)
    }
}

/// The failure of a served job, and whether another attempt follows.
///
/// Any other error fails the job with its text, and the job's `RETRY` says what follows.
public struct ServedJobFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The next step after a failed attempt.
    public enum Next: Equatable, Sendable {
        /// Another attempt if the job's `RETRY` says so.
        case asPlanned
        /// No other attempt.
        case final
        /// Another attempt after this time, if the job has one left; an hour at most.
        case again(after: Duration)
    }

    /// The reason, for the client that waits for the job.
    public let reason: String
    /// The next step.
    public let next: Next

    /// A failure with this reason.
    public init(_ reason: String, next: Next = .asPlanned) {
        self.reason = reason
        self.next = next
    }

    /// The reason.
    public var description: String { reason }
}

/// A job as TAKE replies with it.
struct TakenJob: Sendable {
    let id: UInt64
    let token: String
    let thread: String
    let selector: String
    let attempt: Int
    let timeLeft: Duration?
    let label: String?
    let trace: String?
    let payload: [UInt8]

    /// - Returns: nil for null.
    init?(_ reply: RESPValue) throws(WorkerClientError) {
        if reply.isNull { return nil }
        guard let parts = reply.elements, parts.count >= 8,
            let id = parts[0].integer.flatMap(UInt64.init(exactly:)), let token = parts[1].text,
            let thread = parts[2].text, let selector = parts[3].text,
            let attempt = parts[4].integer, let payload = parts[parts.count - 1].bytes
        else { throw Read.unexpected(reply, "a job") }
        self.id = id
        self.token = token
        self.thread = thread
        self.selector = selector
        self.attempt = attempt
        timeLeft = parts[5].integer.map { .milliseconds($0) }
        label = parts[6].text
        trace = parts.count > 8 ? parts[7].text : nil
        self.payload = payload
    }
}

/// A job in this process's hands, shared by its handler and the code that serves.
final class HeldDelivery: Sendable {
    let id: UInt64
    let token: String
    private let link: ServingLink
    private let last = Mutex((percent: 0.0, text: ""))

    init(_ taken: TakenJob, _ link: ServingLink) {
        id = taken.id
        token = taken.token
        self.link = link
    }

    /// Reports progress, and cancels the job's task if the job is to stop.
    func report(_ fraction: Double, _ text: String) async throws {
        let percent = fraction.isFinite ? min(1, max(0, fraction)) * 100 : 0
        last.withLock { $0 = (percent, text) }
        guard let client = link.living else { return }
        do {
            guard try await client.run(.report(id, token, percent, text)) == "stop" else { return }
        } catch WorkerClientError.daemon("STALE", _) {
            // The job has ended otherwise, or is another worker's.
        } catch is WorkerClientError {
            return
        }
        link.stops.ring(token)
        throw CancellationError()
    }

    /// Whether the daemon still takes this delivery's end.
    ///
    /// - Throws: why that is not known.
    func isValid(to client: AsyncWorkerClient) async throws -> Bool {
        let (percent, text) = last.withLock { $0 }
        do {
            if try await client.run(.report(id, token, percent, text)) == "stop" {
                link.stops.ring(token)
            }
            return true
        } catch WorkerClientError.daemon("STALE", _) {
            return false
        }
    }
}
