// `workerctl perform … --each FILE…` and `--lines`: one job for each file or line.

internal import Kernel
internal import WorkerClient
internal import WorkerThreads

enum BatchSubcommand {
    /// As many jobs as one connection may watch.
    static let inFlightCountMax = 1_000
    static let inFlightUsually = 64
    static let patienceUsually = Duration.seconds(60)

    static let details = """
        --each hands in one job for each file, --lines one for each line of standard input, in their
        order, and prints the number of each; with --wait, its result and a line's end. Failures are
        printed on standard error with the name of the file or line, and the exit status is that of
        the first. While the daemon says BUSY, a job is offered again for the time of --patience;
        others may then get in front of it, unless --in-flight is 1.
        """

    static let options: [Option] = [.each, .lines, .inFlight, .patience, .failFast]

    /// Whether many jobs are asked for.
    static func isAsked(_ invocation: Invocation) throws(Failure) -> Bool {
        let isAsked = invocation.has(.each) || invocation.has(.lines)
        for option in [Option.inFlight, .patience, .failFast]
        where invocation.has(option) && !isAsked {
            throw .usage(
                "\(option.rawValue) goes with --each or --lines", try: "workerctl help perform")
        }
        return isAsked
    }

    static func perform(_ invocation: Invocation) throws(Failure) {
        let (order, source) = (try order(invocation), try source(invocation))
        let (isJSON, style, showsNames) = (
            invocation.isJSON, invocation.errorStyle, invocation.has(.each)
        )
        let (address, program) = (try invocation.address(), invocation.program)
        do {
            let reader = try WorkerThread(name: "input")
            let failure = try Blocking.result { @Sendable () async throws -> Failure? in
                // The limits of this program apply, and its payloads are in memory already.
                let client = try await AsyncWorkerClient.connect(
                    to: address,
                    options: ClientOptions(
                        replyByteCountMax: 1 << 40, unsentByteCountMax: 1 << 40))
                let teller = BatchTeller(
                    isJSON: isJSON, style: style, showsNames: showsNames, of: source.count)
                let run = BatchRun(
                    order, source, client, reader: reader, program: program, teller)
                try await run.run()
                return teller.firstFailure
            }
            if let failure { throw Failure.told(failure.status) }
        } catch let failure as Failure {
            throw failure
        } catch let error as WorkerClientError {
            throw Failure(error, what: "can't perform jobs", program: program)
        } catch {
            throw Failure(what: "can't perform jobs", reason: "\(error)", status: .unavailable)
        }
    }

    private static func order(_ invocation: Invocation) throws(Failure) -> BatchOrder {
        for option in [Option.unique, .tell, .file] where invocation.has(option) {
            throw .usage(
                "\(option.rawValue) is for one job, not for --each or --lines",
                try: "workerctl help perform")
        }
        if invocation.text(.wait) != nil {
            throw .usage(
                "with --each or --lines, --wait takes no time: each job's end is waited for",
                try: "--timeout 30s, which limits how long a job may run")
        }
        return BatchOrder(
            thread: invocation.word(0), selector: invocation.word(1),
            options: try JobSubcommands.performOptions(invocation), waits: invocation.has(.wait),
            inFlightCountMax: try invocation.count(.inFlight, 1...inFlightCountMax)
                ?? inFlightUsually,
            patience: try invocation.duration(.patience) ?? patienceUsually,
            stopsAtFailure: invocation.has(.failFast))
    }

    private static func source(_ invocation: Invocation) throws(Failure) -> BatchSource {
        let files = invocation.words.dropFirst(2).map(\.text)
        guard invocation.has(.lines) else {
            guard !files.isEmpty else {
                throw .usage(
                    "--each needs files: workerctl perform THREAD SELECTOR --each FILE…",
                    try: "--lines for a job of each line of standard input")
            }
            return BatchSource(files: files)
        }
        guard files.isEmpty, !invocation.has(.each) else {
            throw .usage(
                "--lines reads standard input: without a payload and --each",
                try: "workerctl help perform")
        }
        do throws(SystemError) {
            return BatchSource(linesOf: try StandardStream.input.duplicate())
        } catch {
            throw Failure(
                what: "can't read standard input", reason: error.reason, status: .noInput)
        }
    }
}
