// The packs of a transaction that take more jobs: one for each queue.

internal import Jobs

/// The packs that are not in the table.
///
/// A value, so that adding a job checks its uniqueness once.
struct OpenPacks {
    /// One for each queue.
    private(set) var rows: [PackTable.Row] = []
    private var latest = 0
    private var byQueue: [QueueName: Int] = [:]
    private var record = RecordWriter()

    var isEmpty: Bool { rows.isEmpty }

    /// Adds a waiting job.
    ///
    /// - Returns: the full pack that it replaces, if there was one.
    mutating func add(_ job: Job) -> PackTable.Row? {
        let id = job.id.number
        JobRecord.write(job, withQueue: false, to: &record)
        let index = index(of: QueueName(thread: job.thread, priority: job.priority))
        guard let full = rows[index].pack.append(id, &record) else { return nil }
        return PackTable.Row(pack: full, queue: rows[index].queue)
    }

    private mutating func index(of queue: QueueName) -> Int {
        if latest < rows.count, rows[latest].queue == queue { return latest }
        if let index = byQueue[queue] {
            latest = index
            return index
        }
        latest = rows.count
        byQueue[queue] = latest
        rows.append(PackTable.Row(pack: Pack(), queue: queue))
        return latest
    }

    /// Whether a job is in one of them.
    func contains(_ id: UInt64) -> Bool { rows.contains { $0.pack.index(of: id) != nil } }

    /// Drops all of them.
    mutating func removeAll() {
        rows.removeAll(keepingCapacity: true)
        byQueue.removeAll(keepingCapacity: true)
        latest = 0
    }
}
