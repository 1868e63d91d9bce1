// The loop of a worker: take a job, run its handler, say how it ended, and so on over any number of
// connections.

internal import Structures
internal import Synchronization

/// How a served job has ended.
enum ServedEnd: Sendable {
    case done([UInt8])
    case failed(ServedJobFailure)
    case givenBack
}

/// The request of a worker with each TAKE.
struct TakeWish: Sendable {
    let name: String
    let ownThread: String?
    let selectors: [String]
    /// The time that a TAKE waits; the length does not matter, as another one follows.
    var wait = Duration.seconds(60)
}

/// One worker, which serves selectors until its task is cancelled.
struct Serving: Sendable {
    let link: ServingLink
    let wish: TakeWish
    let handler: @Sendable (ServedJob) async throws -> [UInt8]
    let onTrouble: @Sendable (WorkerClientError) -> Void

    /// How often a name is asked for that the daemon still sees on the former connection.
    private static let nameTryCountMax = 20
    /// How often a job is claimed that is still this worker's and does not come.
    private static let claimCountMax = 5

    func run() async throws {
        defer { link.close() }
        var taken: TakenJob?
        while !Task.isCancelled {
            guard let job = taken else {
                taken = try await take()
                continue
            }
            let end = await perform(job)
            taken = try await say(end, of: job)
        }
        guard let taken else { return }
        await link.seeThrough {
            _ = try await link.run(.end(.givenBack, taken.id, taken.token, then: nil))
        }
    }

    // MARK: - Taking

    /// - Returns: nil if no job came in time, or after a trouble that passes.
    private func take() async throws -> TakenJob? {
        do {
            return try await link.run(.take(wish))
        } catch is CancellationError {
            await withdraw()
        } catch let error as WorkerClientError {
            if !Self.passes(error) { throw error }
            await bear(error)
        }
        return nil
    }

    /// Gives back the job that may be on its way to a TAKE that is not waited for any more.
    private func withdraw() async {
        link.close()
        await link.seeThrough {
            for _ in 0..<Self.nameTryCountMax {
                do {
                    return try await giveBackNext()
                } catch WorkerClientError.daemon("INUSE", _) {
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
        }
    }

    /// Takes the job that this name holds, or the next one, and gives it back.
    private func giveBackNext() async throws {
        var wish = wish
        wish.wait = .zero
        guard let job = try await link.run(.take(wish)) else { return }
        _ = try await link.run(.end(.givenBack, job.id, job.token, then: nil))
    }

    // MARK: - Running

    private func perform(_ taken: TakenJob) async -> ServedEnd {
        let events = ServingEvents()
        let delivery = HeldDelivery(taken, link)
        link.stops.begin(taken.token) { events.add($0) }
        defer { link.stops.end() }
        if link.living == nil { events.add(.disconnected) }
        // In the group, so that it runs where the user has the worker run.
        return await withTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    events.add(.ended(.success(try await handler(ServedJob(taken, delivery)))))
                } catch {
                    events.add(.ended(.failure(error)))
                }
            }
            var isStopped = false
            while true {
                switch await events.next() {
                case .ended(let result):
                    return end(for: result, isLeft: Task.isCancelled && !isStopped)
                case .disconnected where await isKept(delivery): continue
                case .stop, .disconnected:
                    isStopped = true
                    group.cancelAll()
                }
            }
        }
    }

    private func end(for result: Result<[UInt8], any Error>, isLeft: Bool) -> ServedEnd {
        switch result {
        case .success(let bytes): .done(bytes)
        case .failure(let failure as ServedJobFailure): .failed(failure)
        case .failure where isLeft: .givenBack
        case .failure(let error): .failed(ServedJobFailure("\(error)"))
        }
    }

    /// Connects again while a handler runs, so that its job stays this worker's.
    ///
    /// - Returns: whether it still is, as far as is known.
    private func isKept(_ delivery: HeldDelivery) async -> Bool {
        guard link.living == nil else { return true }
        var wish = wish
        wish.wait = .zero
        var tryCount = 0
        while !Task.isCancelled {
            do {
                let client = try await link.connect()
                let job = try await client.run(.take(wish))
                if job?.token == delivery.token { return true }
                if let job {
                    _ = try await client.run(.end(.givenBack, job.id, job.token, then: nil))
                }
                guard try await delivery.isValid(to: client) else { return false }
                // A daemon that has just started gives it a moment later.
                tryCount += 1
                if tryCount == Self.claimCountMax { return true }
                try? await Task.sleep(for: link.options.reconnectPause)
            } catch let error as WorkerClientError {
                // Also when the name seems to be in use still, for a moment.
                await bear(error)
            } catch {
                return true
            }
        }
        return true
    }

    // MARK: - Ending

    /// Says how a job has ended, again until the daemon has heard it.
    ///
    /// - Returns: the next job, if it came with the reply.
    private func say(_ end: ServedEnd, of job: TakenJob) async throws -> TakenJob? {
        var next: TakeWish? = if case .done = end { wish } else { nil }
        while !Task.isCancelled {
            do {
                return try await link.run(.end(end, job.id, job.token, then: next))
            } catch is CancellationError {
                break
            } catch WorkerClientError.daemon(let word, let message) {
                let error = WorkerClientError.daemon(word: word, message: message)
                if word == "STALE" {
                    onTrouble(error)
                    return nil
                }
                await bear(error)
                if word == "SHUTTINGDOWN" { return nil }
                if Self.passes(error) { continue }
                // Nothing has ended, because there can be no next job.
                if next == nil { throw error }
                next = nil
            } catch let error as WorkerClientError {
                await bear(error)
            }
        }
        let mayHaveNext = next != nil
        if mayHaveNext { link.close() }
        await link.seeThrough {
            _ = try await link.run(.end(end, job.id, job.token, then: nil))
        }
        if mayHaveNext { await withdraw() }
        return nil
    }

    private func bear(_ error: WorkerClientError) async {
        onTrouble(error)
        try? await Task.sleep(for: link.options.reconnectPause)
    }

    /// Whether an error is over some time later.
    private static func passes(_ error: WorkerClientError) -> Bool {
        switch error {
        case .daemon(let word, _): ["INUSE", "SHUTTINGDOWN", "BUSY"].contains(word)
        case .notConnected, .timedOut, .closed, .tooManyOutstanding: true
        case .protocolFault: false
        }
    }
}

/// The events of one held job, which its worker waits for also when its task is cancelled.
private final class ServingEvents: Sendable {
    private struct State {
        var events = FIFO<StopBoard.Event>()
        var waiter: CheckedContinuation<StopBoard.Event, Never>?
    }

    private let state = Mutex(State())

    /// - Thread: any thread.
    func add(_ event: StopBoard.Event) {
        let waiter = state.withLock { state in
            let waiter = state.waiter.take()
            if waiter == nil { state.events.append(event) }
            return waiter
        }
        waiter?.resume(returning: event)
    }

    /// The next event; one task waits at a time.
    func next() async -> StopBoard.Event {
        await withCheckedContinuation { continuation in
            let event = state.withLock { state in
                let event = state.events.popFirst()
                if event == nil { state.waiter = continuation }
                return event
            }
            if let event { continuation.resume(returning: event) }
        }
    }
}
