// The core's answers in the protocol.

internal import Jobs
internal import RESP

extension RESPValue {
    /// The reply to a client.
    ///
    /// - Parameter more: further entries of a job's description.
    init(_ answer: JobAnswer, _ more: [RESPValue.Entry] = []) {
        self =
            switch answer {
            case .accepted(let id), .known(let id): .integer(Int(id.number))
            case .count(let count): .integer(count)
            case .done: .simpleString("OK")
            case .cancel(let answer): .simpleString(answer.rawValue)
            case .result(let bytes): bytes.map { .bulk($0) } ?? .null
            case .job(let description):
                .map(description.entries + description.details + more)
            case .listed: .array([])
            case .moved(let id, let thread, _):
                WireError(JobError.hasMoved(id, thread: PoolSlot.shown(thread))).reply
            case .failed(let error): WireError(error).reply
            }
    }
}

extension JobStatus {
    /// The entries of a job in a listing.
    var entries: [RESPValue.Entry] {
        [
            entry("id", .integer(Int(job.id.number))),
            entry("thread", text(job.thread)),
            entry("selector", text(job.selector)),
            entry("state", text(state)),
            entry("priority", text(job.priority.name)),
            entry("attempt", .integer(job.attempt)),
        ] + job.details.options.shown.map { entry($0.name, .bulk($0.value)) }
            + (lastFailure.map { [entry("last-failure", text($0))] } ?? [])
    }

    /// The longest reason of a failure in a row of a listing, in characters.
    private static let shownFailureCountMax = 256

    /// The further entries in a listing with FAILURES.
    var failure: [RESPValue.Entry] {
        [failureEntry, entry("ended-at", job.endedAt.map { .integer(Int($0)) } ?? .null)]
    }

    /// The beginning of the reason why it has failed, or null.
    var failureEntry: RESPValue.Entry {
        let reason = job.outcome?.failureReason.map { $0.prefix(Self.shownFailureCountMax) }
        return entry("failure", reason.map { text(String($0)) } ?? .null)
    }

    /// The further entries of a single job, as JOB shows it.
    fileprivate var details: [RESPValue.Entry] {
        func time(_ milliseconds: Int64?) -> RESPValue {
            milliseconds.map { .integer(Int($0)) } ?? .null
        }
        var details = [
            entry("accepted-at", time(job.acceptedAt)),
            entry("due-at", time(job.dueAt)),
            entry("started-at", time(job.startedAt)),
            entry("ended-at", time(job.endedAt)),
            entry("worker", job.workerName.map(text) ?? .null),
            entry("payload-bytes", .integer(job.state.isEnded ? 0 : job.payload.count)),
            entry("failure", job.outcome?.failureReason.map(text) ?? .null),
        ]
        if let expiresAt = job.expiresAt { details.append(entry("expires-at", time(expiresAt))) }
        if let key = job.key { details.append(entry("key", .bulk(key))) }
        details += job.details.options.value.shownWords.map { shown in
            entry(shown.name, .array(shown.words.map(text)))
        }
        details += holdUp?.entries ?? []
        // Null once the job has ended, and before its handler has said something.
        details.append(entry("progress", progress?.fraction.map { .double($0) } ?? .null))
        details.append(entry("progress-text", progress?.shownText.map(text) ?? .null))
        return details
    }
}

extension RESPValue {
    /// The output of one attempt of a job; null if it is not kept.
    init(_ found: (attempts: [Int], attempt: Int, reading: ProgramOutput.Reading)?) {
        guard let (attempts, attempt, reading) = found else {
            self = .null
            return
        }
        self = .map([
            entry("attempt", .integer(attempt)),
            entry("attempts", .array(attempts.map { .integer($0) })),
            entry("output", .bulk(reading.output.bytes)),
            entry("output-bytes", .integer(reading.output.writtenByteCount)),
            entry("errors", .bulk(reading.errors.bytes)),
            entry("errors-bytes", .integer(reading.errors.writtenByteCount)),
        ])
    }
}

extension JobHoldUp {
    /// Its entries in the description of a job or thread that it holds up.
    var entries: [RESPValue.Entry] {
        [
            entry("held-by", .integer(Int(blocker.number))),
            entry("held-until", until.map { .integer(Int($0)) } ?? .null),
        ]
    }
}

/// A pair of a map reply.
func entry(_ key: String, _ value: RESPValue) -> RESPValue.Entry {
    RESPValue.Entry(text(key), value)
}

/// Text as a bulk reply.
func text(_ text: String) -> RESPValue { .bulk(Array(text.utf8)) }
