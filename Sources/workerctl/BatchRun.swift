// Many jobs in one go: handed in over one connection, with a bounded number in flight, and told in
// the order of their inputs.

internal import Kernel
internal import WorkerClient
internal import WorkerThreads

/// The settings that all jobs of a run share, and how they are handed in.
struct BatchOrder: Sendable {
    let thread: String
    let selector: String
    let options: PerformOptions
    /// Whether each job's end is waited for.
    let waits: Bool
    /// The most inputs that may be handed in and not told yet.
    let inFlightCountMax: Int
    /// How long one job is offered again while the daemon says BUSY.
    let patience: Duration
    /// Whether nothing more is handed in after the first failure.
    let stopsAtFailure: Bool
}

/// The end of one input.
enum BatchOutcome: Sendable {
    case accepted(UInt64)
    case done(UInt64, result: [UInt8])
    case failed(UInt64?, Failure)
}

/// One run of many jobs.
///
/// Confined to the task that runs it; other tasks only send it events.
final class BatchRun {
    private enum Event: Sendable {
        case input(Result<BatchInput?, Failure>)
        case outcome(Int, BatchOutcome)
        /// The progress bar is to be drawn.
        case tick
    }

    /// Payloads of more bytes are not in flight together, but for a single one.
    private static let inFlightByteCountMax = 64 << 20

    private static let tickPause = Duration.milliseconds(100)

    private let order: BatchOrder
    private let source: BatchSource
    private let client: AsyncWorkerClient
    private let reader: WorkerThread
    private let program: String
    private let teller: BatchTeller
    private let events: AsyncStream<Event>
    private let send: AsyncStream<Event>.Continuation

    private var isReading = false
    private var isOver = false
    /// The inputs that are read and not told, by their places.
    private var names: [Int: (name: String, byteCount: Int)] = [:]
    private var outcomes: [Int: BatchOutcome] = [:]
    private var nextPlace = 0
    private var toldCount = 0
    private var inFlightByteCount = 0

    init(
        _ order: BatchOrder, _ source: BatchSource, _ client: AsyncWorkerClient,
        reader: WorkerThread, program: String, _ teller: BatchTeller
    ) {
        self.order = order
        self.source = source
        self.client = client
        self.reader = reader
        self.program = program
        self.teller = teller
        (events, send) = AsyncStream.makeStream(of: Event.self)
    }

    /// Hands in everything and tells how it ended.
    func run() async throws {
        try readNext()
        let ticking = teller.showsProgress ? tick() : nil
        defer { ticking?.cancel() }
        for await event in events {
            switch event {
            case .tick: teller.draw(inFlight: nextPlace - toldCount)
            case .input(let input): try take(input)
            case .outcome(let place, let outcome):
                outcomes[place] = outcome
                if case .failed(_, let failure) = outcome { note(failure) }
                try tellInOrder()
            }
            try readNext()
            if isOver, toldCount == nextPlace, !isReading || teller.hasFailed { break }
        }
        try teller.finish(handedInCount: nextPlace, of: source.count)
    }

    private func tick() -> Task<Void, Never> {
        let (send, pause) = (send, Self.tickPause)
        return Task { @Sendable in
            while !Task.isCancelled {
                try? await Task.sleep(for: pause)
                send.yield(.tick)
            }
        }
    }

    /// Has the next input read if there is room for it.
    private func readNext() throws {
        guard !isReading, !isOver, nextPlace - toldCount < order.inFlightCountMax,
            inFlightByteCount < Self.inFlightByteCountMax
        else { return }
        isReading = true
        let (source, send) = (source, send)
        try reader.post {
            send.yield(.input(Result { () throws(Failure) in try source.next() }))
        }
    }

    private func take(_ read: Result<BatchInput?, Failure>) throws {
        isReading = false
        guard !isOver else { return }
        guard let input = try read.get() else {
            isOver = true
            return
        }
        let place = nextPlace
        nextPlace += 1
        names[place] = (input.name, (try? input.payload.get().count) ?? 0)
        inFlightByteCount += names[place]?.byteCount ?? 0
        guard case .success(let payload) = input.payload else {
            if case .failure(let failure) = input.payload {
                send.yield(.outcome(place, .failed(nil, failure)))
            }
            return
        }
        // Sent here and not in a task: the daemon gets them in the order of the inputs.
        let first = Result { () throws(WorkerClientError) in try offer(payload) }
        let job = BatchJob(order, client, payload, program: program)
        let send = send
        Task { send.yield(.outcome(place, await job.run(first))) }
    }

    private func offer(_ payload: [UInt8]) throws(WorkerClientError) -> SentPerform {
        try client.startPerform(
            onThread: order.thread, selector: order.selector, payload: payload,
            options: order.options)
    }

    /// Ends the reading after a failure that counts for the rest, too.
    private func note(_ failure: Failure) {
        if order.stopsAtFailure || failure.status == .unavailable { isOver = true }
    }

    private func tellInOrder() throws(Failure) {
        while let outcome = outcomes.removeValue(forKey: toldCount) {
            let input = names.removeValue(forKey: toldCount)
            inFlightByteCount -= input?.byteCount ?? 0
            toldCount += 1
            try teller.tell(outcome, of: input?.name ?? "", place: toldCount)
        }
    }
}

/// One job of many, from its first offer to its end.
private struct BatchJob: Sendable {
    /// The pauses between two offers of a job while the daemon says BUSY.
    private static let pauses = (
        first: Duration.milliseconds(50), longest: Duration.milliseconds(250)
    )

    private let order: BatchOrder
    private let client: AsyncWorkerClient
    private let payload: [UInt8]
    private let program: String

    init(
        _ order: BatchOrder, _ client: AsyncWorkerClient, _ payload: [UInt8], program: String
    ) {
        self.order = order
        self.client = client
        self.payload = payload
        self.program = program
    }

    func run(_ first: Result<SentPerform, WorkerClientError>) async -> BatchOutcome {
        var id: UInt64?
        do {
            let accepted = try await number(first)
            id = accepted
            guard order.waits else { return .accepted(accepted) }
            for try await news in client.observe(accepted) where news.isFinal { break }
            // The job has ended, so this answers at once: with its result or its error.
            let result = try await client.result(of: accepted)
            return .done(accepted, result: result ?? [])
        } catch {
            return .failed(id, failure(error, id))
        }
    }

    /// The number that the daemon gives the job, which is offered again while it says BUSY.
    private func number(_ first: Result<SentPerform, WorkerClientError>) async throws -> UInt64 {
        let clock = ContinuousClock()
        let end = clock.now.advanced(by: order.patience)
        var pause = Self.pauses.first
        var offer = first
        while true {
            do {
                return try await offer.get().id()
            } catch WorkerClientError.daemon(word: "BUSY", _) where clock.now < end {
                try await clock.sleep(until: min(end, clock.now.advanced(by: pause)))
                pause = min(pause * 2, Self.pauses.longest)
                offer = Result { () throws(WorkerClientError) in
                    try client.startPerform(
                        onThread: order.thread, selector: order.selector, payload: payload,
                        options: order.options)
                }
            }
        }
    }

    private func failure(_ error: any Error, _ id: UInt64?) -> Failure {
        let what =
            id.map { "job \($0)" }
            ?? "can't perform '\(order.selector)' on thread '\(order.thread)'"
        guard let error = error as? WorkerClientError else {
            return Failure(what: what, reason: "\(error)", status: .unavailable)
        }
        // The daemon names a job that it has accepted.
        if case .daemon = error, id != nil {
            return Failure(error, what: "", program: program)
        }
        return Failure(error, what: what, program: program)
    }
}
