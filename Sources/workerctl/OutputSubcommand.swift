// `workerctl output`: what the program of a job has written, once or as it comes. The daemon pushes
// that there is more, so that nothing is asked again and again.

internal import Kernel
internal import WorkerClient

enum OutputSubcommand {
    static var subcommand: Subcommand {
        Subcommand(
            name: "output", arguments: "ID",
            summary: "What the program of a job has written; the daemon keeps the end of it.",
            details: """
                Its standard output goes to standard output and its standard error to standard
                error. Of an attempt that succeeded, the standard output is the result: workerctl
                result ID. With --follow, what is written is printed as it comes, of each attempt
                and with the result.
                """, wordCount: 1...1, options: [.attempt, .follow], run: run)
    }

    static var following: Subcommand {
        Subcommand(
            name: "follow", arguments: "ID",
            summary: "What the program of a job writes, as it comes: output --follow.",
            details: """
                Waits until the job begins, and ends with it: with status 0 if it is done, else with
                the reason of its failure and the status of that.
                """,
            wordCount: 1...1
        ) { (invocation) throws(Failure) in
            let id = try invocation.id(0)
            guard !invocation.isJSON else {
                throw .usage(
                    "follow prints all attempts as they come: without --json",
                    try: "\(invocation.program) output \(id) --json")
            }
            try follow(id, invocation)
        }
    }

    private static func run(_ invocation: Invocation) throws(Failure) {
        let id = try invocation.id(0)
        let attempt = try invocation.count(.attempt, 1...Int(Int32.max))
        guard !invocation.has(.follow) else {
            guard !invocation.isJSON, attempt == nil else {
                throw .usage(
                    "--follow prints all attempts as they come: without --json and --attempt",
                    try: "\(invocation.program) output \(id) --follow")
            }
            return try follow(id, invocation)
        }
        let found = try invocation.withDaemon("can't show the output of job \(id)") {
            (client) throws(WorkerClientError) in try client.output(of: id, attempt: attempt)
        }
        guard let found else {
            throw Failure(
                what: "no output of job \(id)",
                reason: attempt.map { "nothing is kept of attempt \($0)" } ?? "nothing is kept",
                advice: "\(invocation.program) job \(id)", status: .refused)
        }
        if invocation.isJSON { return try Output.write(found.json) }
        try Output.writeResult(found.output)
        try Output.writeErrors(found.errors)
    }

    /// Prints the output of a job each time that the daemon tells of more.
    private static func follow(_ id: UInt64, _ invocation: Invocation) throws(Failure) {
        var follower = OutputFollower()
        var failure: Failure?
        var fault: WorkerClientError?
        try invocation.withDaemon("can't follow job \(id)") { (client) throws(WorkerClientError) in
            try client.observe(id, withOutput: true) { news in
                do throws(WorkerClientError) {
                    let more = try follower.look(at: id, client, isDone: news.state == .done)
                    do throws(Failure) {
                        try Output.writeResult(more.output)
                        try Output.writeErrors(more.errors)
                    } catch {
                        failure = error
                    }
                } catch {
                    fault = error
                }
                return failure == nil && fault == nil
            }
            if let fault { throw fault }
        }
        if let failure { throw failure }
        try throwEnd(of: id, invocation)
    }

    /// Throws the error of a job that has not ended well.
    private static func throwEnd(of id: UInt64, _ invocation: Invocation) throws(Failure) {
        // The daemon's sentence names the job.
        _ = try invocation.withDaemon("") { (client) throws(WorkerClientError) in
            try client.result(of: id)
        }
    }
}

/// The new part of a job's output, look by look.
private struct OutputFollower {
    typealias News = (output: [UInt8], errors: [UInt8])

    private var attempt = 0
    private var outputCount = 0
    private var errorsCount = 0

    /// Asks for the output that was not yet seen.
    ///
    /// - Parameter isDone: whether the job has ended well: its output is the result then.
    mutating func look(
        at id: UInt64, _ client: WorkerClient, isDone: Bool
    ) throws(WorkerClientError) -> News {
        var news: News = ([], [])
        let latest = try client.output(of: id)
        for attempt in missedAttempts(in: latest) {
            news += self.news(in: try client.output(of: id, attempt: attempt))
        }
        news += self.news(in: latest)
        if isDone, let result = try client.result(of: id) {
            news.output += result.dropFirst(outputCount)
        }
        return news
    }

    /// The attempts whose end was not seen, and those after them but for the latest.
    private func missedAttempts(in latest: JobOutput?) -> [Int] {
        guard let latest else { return [] }
        return latest.attempts.filter { $0 >= attempt && $0 < latest.attempt }
    }

    private mutating func news(in found: JobOutput?) -> News {
        guard let found else { return ([], []) }
        var news: News = ([], [])
        if found.attempt != attempt {
            if attempt > 0 { news.errors += Array("--- attempt \(found.attempt)\n".utf8) }
            self = OutputFollower()
            attempt = found.attempt
        }
        news.output += Self.unseen(found.output, of: found.outputByteCount, after: &outputCount)
        news.errors += Self.unseen(found.errors, of: found.errorsByteCount, after: &errorsCount)
        return news
    }

    /// - Parameters:
    ///   - bytes: the last ones of a stream.
    ///   - count: the number of all its bytes.
    ///   - seenCount: the number of those that were seen; afterwards of all that are known.
    private static func unseen(
        _ bytes: [UInt8], of count: Int, after seenCount: inout Int
    ) -> ArraySlice<UInt8> {
        // Of an attempt that succeeded the bytes are gone, and are in the result.
        guard !bytes.isEmpty else { return [] }
        defer { seenCount = max(seenCount, count) }
        return bytes.suffix(max(0, count - seenCount))
    }
}

private func += (news: inout OutputFollower.News, more: OutputFollower.News) {
    news.output += more.output
    news.errors += more.errors
}

extension JobOutput {
    fileprivate var json: JSON {
        .object([
            ("attempt", .integer(attempt)), ("attempts", .array(attempts.map(JSON.integer))),
            ("output", .bytes(output)), ("output_bytes", .integer(outputByteCount)),
            ("errors", .bytes(errors)), ("errors_bytes", .integer(errorsByteCount)),
        ])
    }
}
