// The answers of the daemon to `workerctl top`, each second.

internal import Kernel
internal import WorkerClient

/// The daemon's state at one moment.
struct TopSnapshot: Sendable {
    /// When it was taken.
    let time: Instant
    let threads: [ThreadDescription]
    /// The lines of INFO, by their names.
    let figures: [String: String]
    /// For how long the oldest waiting job of a queue waits, in milliseconds.
    let oldestWaits: [String: Int64]

    func figure(_ name: String) -> Int { figures[name].flatMap { Int($0) } ?? 0 }

    /// The name of the queue of a thread: that of its pool, if it belongs to one.
    static func queue(of thread: String) -> String {
        thread.split(separator: "/", maxSplits: 1).first.map(String.init) ?? thread
    }
}

extension TopSnapshot {
    /// The most queues whose oldest job is asked for: each takes two commands.
    private static let queueCountMax = 32

    /// Asks for the present state.
    ///
    /// - Blocks: until the daemon has answered all of it.
    init(_ client: WorkerClient) throws(WorkerClientError) {
        threads = try client.threads()
        var figures: [String: String] = [:]
        for line in try client.info(nil).split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { figures[String(parts[0])] = String(parts[1]) }
        }
        self.figures = figures
        var waits: [String: Int64] = [:]
        let queues = Set(threads.filter { $0.waitingCount > 0 }.map { Self.queue(of: $0.name) })
        for queue in queues.sorted().prefix(Self.queueCountMax) {
            waits[queue] = try Self.oldestWait(in: queue, client)
        }
        oldestWaits = waits
        time = SystemClock().now()
    }

    private static func oldestWait(
        in queue: String, _ client: WorkerClient
    ) throws(WorkerClientError) -> Int64? {
        do throws(WorkerClientError) {
            let oldest = try client.jobs(
                thread: queue, state: .waiting, limit: 1, where: JobConditions(oldestFirst: true))
            guard let id = oldest.first?.id else { return nil }
            let job = try client.job(id)
            let since = max(job.acceptedAt, job.dueAt ?? 0)
            return max(0, WallClock.unixMilliseconds() - since)
        } catch {
            // The job may have ended meanwhile, and the thread may be gone.
            guard case .daemon = error else { throw error }
            return nil
        }
    }
}
