// `workerctl wait`: until jobs have ended, or have come so far. The daemon pushes each change, so
// that nothing is asked again and again.

internal import Kernel
internal import WorkerClient
internal import Wording

enum WaitSubcommand {
    static var subcommand: Subcommand {
        Subcommand(
            name: "wait", arguments: "ID…",
            summary: "Waits until jobs have ended, and prints how each did.",
            details: """
                Without an option it waits for all of them. The exit status is that of the first
                job, in the order of the line, that did not end well; with --any, that of the job
                which ended first. With --state, a job counts as soon as it has come so far: one
                that has ended has also run. A job that ends otherwise than --state says is a
                failure.
                """, wordCount: 1...Int.max,
            options: [.any, .all, .failFast, .state, .timeout], flags: [.all],
            summaries: [
                .all: "until all have ended; so it is without an option",
                .failFast: "until one has not ended well, or all have ended",
                .state: "until they are in this state, or past it",
                .timeout: "at most so long",
            ], run: run)
    }

    /// Which jobs are waited for.
    private enum Manner {
        case all, any, failFast
    }

    private static func run(_ invocation: Invocation) throws(Failure) {
        let manner = try manner(invocation)
        let state = try invocation.jobState()
        let limit = try invocation.duration(.timeout)
        var ids: [UInt64] = []
        for index in invocation.words.indices {
            let id = try invocation.id(index)
            if !ids.contains(id) { ids.append(id) }
        }
        var statuses: [UInt64: Failure.Status] = [:]
        var failure: Failure?
        do throws(Failure) {
            try invocation.withDaemon("can't wait for jobs") { (client) throws(WorkerClientError) in
                try client.observe(ids, within: limit) { id, news in
                    guard let status = status(of: news, for: state) else { return true }
                    statuses[id] = status
                    do throws(Failure) {
                        try tell(id, news, invocation)
                    } catch {
                        failure = error
                        return false
                    }
                    switch manner {
                    case .any: return false
                    case .failFast: return status == .good && statuses.count < ids.count
                    case .all: return statuses.count < ids.count
                    }
                }
            }
        } catch {
            guard error.status == .timeout, let limit else { throw error }
            throw timedOut(ids.filter { statuses[$0] == nil }, limit, invocation)
        }
        if let failure { throw failure }
        if let status = ids.compactMap({ statuses[$0] }).first(where: { $0 != .good }) {
            throw .told(status)
        }
    }

    private static func manner(_ invocation: Invocation) throws(Failure) -> Manner {
        let given = [Option.any, .all, .failFast].filter(invocation.has)
        guard given.count < 2 else {
            throw .usage("--any, --all and --fail-fast: one of them", try: "workerctl help wait")
        }
        return given.first == .any ? .any : given.first == .failFast ? .failFast : .all
    }

    /// How far a job is in its life.
    private static func stage(_ state: JobSummary.State) -> Int {
        switch state {
        case .delayed, .buffered: 0
        case .waiting: 1
        case .running, .stuck: 2
        default: 3
        }
    }

    /// The status that a job counts with; nil while it goes on.
    private static func status(
        of news: Result<JobNews, WorkerClientError>, for wanted: JobSummary.State?
    ) -> Failure.Status? {
        guard case .success(let news) = news else { return .refused }
        if let wanted, stage(wanted) < 3 {
            return stage(news.state) >= stage(wanted) ? .good : nil
        }
        guard news.isFinal else { return nil }
        if let wanted, wanted == news.state { return .good }
        switch news.state {
        case .done: return wanted == nil ? .good : .failed
        case .cancelled: return .cancelled
        case .expired: return .expired
        default: return .failed
        }
    }

    private static func tell(
        _ id: UInt64, _ news: Result<JobNews, WorkerClientError>, _ invocation: Invocation
    ) throws(Failure) {
        switch news {
        case .success(let news):
            if invocation.isJSON { return try Output.write(news.json) }
            let state = invocation.style.state(news.state.rawValue)
            let failure = news.failure.map { "  " + Terminal.printable($0) } ?? ""
            try Output.write("\(id)  \(state)\(failure)\n")
        case .failure(let error):
            let failure = Failure(error, what: "job \(id)", program: invocation.program)
            if invocation.isJSON { return try Output.write(failure.json) }
            try Output.write("\(id)  unknown  \(Terminal.printable(failure.reason))\n")
        }
    }

    private static func timedOut(
        _ ids: [UInt64], _ limit: Duration, _ invocation: Invocation
    ) -> Failure {
        let shown = ids.prefix(5).map(String.init).joined(separator: " ")
        let span = Durations.span(limit.nanosecondsClamped / 1_000_000)
        return Failure(
            what: "\(counted(ids.count, "job")) left after \(span)",
            reason: "\(shown)\(ids.count > 5 ? " …" : "")",
            advice: "\(invocation.program) wait \(shown)", status: .timeout)
    }
}
