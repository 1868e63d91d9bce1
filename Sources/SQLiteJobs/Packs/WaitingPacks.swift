// Waiting jobs without an attempt, in packs: each pack has jobs of one queue that were accepted
// in one transaction. A job that begins, or is to be retried, moves from its pack to a row of its
// own.

internal import Jobs

/// The packed jobs of a store.
///
/// Changes are in the table after `flush`, and reading flushes first. After a failed transaction,
/// `forget` undoes its changes.
///
/// - Thread: its connection's.
final class WaitingPacks {
    /// The number of packs that are cached as they are in the table.
    ///
    /// Jobs mostly end in the order of their arrival, so that each pack is read once.
    private static let rememberedMax = 128
    /// Larger payloads have rows of their own: reading one job of a pack reads all of it.
    private static let payloadByteCountMax = 4 << 10

    /// A pack as it will be in the table.
    private struct Remembered {
        var pack: Pack
        let queue: QueueName?
        /// The queue in the form of the records of ended jobs.
        let queueBytes: [UInt8]
        var isChanged = false
    }

    let table: PackTable
    /// The packs of this transaction, which are not in the table.
    private var open: OpenPacks {
        _read { yield unsafe uncheckedOpen }
        _modify { yield unsafe &uncheckedOpen }
    }
    /// Packs of the table, in no order, so that each of them is moved as seldom as possible.
    private var remembered: [Remembered] {
        _read { yield unsafe uncheckedRemembered }
        _modify { yield unsafe &uncheckedRemembered }
    }
    // SAFETY: confined to its connection's thread; a change of one of them calls nothing that
    // reads or changes these packs. Each job looks at them several times.
    @exclusivity(unchecked) private var uncheckedOpen = OpenPacks()
    @exclusivity(unchecked) private var uncheckedRemembered: [Remembered] = []
    /// The place that the next one takes, if the cache is full.
    private var oldest = 0
    private var usedLast = 0
    /// The number of changed ones among them.
    private var changedCount = 0
    /// The largest number so far: numbers grow, so that the packs of a queue follow its order.
    private var lastNumber: UInt64

    init(in database: Database) throws(StoreFault) {
        table = try PackTable("packs", hasQueue: true, in: database)
        lastNumber = try table.lastNumber()
    }

    // MARK: - Changing

    /// Adds a new job.
    ///
    /// - Returns: false if it does not go into a pack: it must be stored elsewhere.
    func accept(_ job: Job) throws(StoreFault) -> Bool {
        let id = job.id.number
        // Jobs that expire are searched by their time, among the rows. The outcome of a job with a
        // name is kept as long as the name, in a row too.
        guard job.state == .waiting, job.attempt == 0, job.expiresAt == nil, id > lastNumber,
            job.details.options.uniqueUntil == nil,
            job.payload.count <= Self.payloadByteCountMax
        else { return false }
        if let full = open.add(job) { try insert(full) }
        lastNumber = id
        return true
    }

    /// Removes a job, if it is in a pack.
    ///
    /// - Parameters:
    ///   - isRemembered: searches only the cached packs.
    /// - Returns: the job; nil if it is in none.
    func take(
        _ id: UInt64, ifRemembered isRemembered: Bool = false
    ) throws(StoreFault) -> Job? {
        guard let place = try place(of: id, ifRemembered: isRemembered) else { return nil }
        let job = try job(at: place)
        drop(place)
        return job
    }

    /// Moves a job to the ended ones, if it is in a pack.
    ///
    /// - Parameters:
    ///   - isRemembered: searches only the cached packs.
    ///   - attempt: the attempt that it ended with; nil for a job that had not begun.
    /// - Returns: whether it was in one.
    func end(
        _ id: UInt64, ifRemembered isRemembered: Bool = false, _ attempt: Attempt?,
        _ outcome: Outcome, at now: Int64, to ended: EndedPacks
    ) throws(StoreFault) -> Bool {
        guard let place = try place(of: id, ifRemembered: isRemembered) else { return false }
        try ended.append(
            id, of: remembered[place.row].pack.reader(of: place.record),
            in: remembered[place.row].queueBytes, attempt, outcome, at: now)
        drop(place)
        return true
    }

    private func drop(_ place: Place) {
        remembered[place.row].pack.drop(place.record)
        if !remembered[place.row].isChanged { changedCount += 1 }
        remembered[place.row].isChanged = true
    }

    /// Writes the changes.
    func flush() throws(StoreFault) {
        if !open.isEmpty {
            for row in open.rows where !row.pack.isEmpty { try insert(row) }
            open.removeAll()
        }
        guard changedCount > 0 else { return }
        // By index: a loop over the elements copies each. From the last, which takes the place of a
        // removed one.
        for place in remembered.indices.reversed() where remembered[place].isChanged {
            try table.update(remembered[place].pack)
            remembered[place].isChanged = false
            if remembered[place].pack.keptCount == 0 {
                remembered.swapAt(place, remembered.count - 1)
                remembered.removeLast()
            }
        }
        changedCount = 0
        usedLast = 0
    }

    /// Drops the changes of a failed transaction.
    func forget() {
        open.removeAll()
        remembered.removeAll()
        changedCount = 0
        usedLast = 0
    }

    private func insert(_ row: PackTable.Row) throws(StoreFault) {
        try table.insert(row)
        _ = try remember(row)
    }

    /// Caches a pack of the table, in place of another if the cache is full.
    ///
    /// - Returns: its place.
    private func remember(_ row: PackTable.Row) throws(StoreFault) -> Int {
        let new = Remembered(
            pack: row.pack, queue: row.queue,
            queueBytes: row.queue.map { JobRecord.queue($0) } ?? [])
        guard remembered.count == Self.rememberedMax else {
            remembered.append(new)
            return remembered.count - 1
        }
        let place = oldest
        if remembered[place].isChanged {
            try table.update(remembered[place].pack)
            changedCount -= 1
        }
        remembered[place] = new
        oldest = (place + 1) % Self.rememberedMax
        return place
    }

    // MARK: - Finding

    /// A place among the cached packs.
    private struct Place {
        let row: Int
        let record: Int
    }

    private func place(of id: UInt64, ifRemembered isRemembered: Bool) throws(StoreFault) -> Place?
    {
        if let place = rememberedPlace(of: id) { return place }
        if isRemembered { return nil }
        // Flushed packs are cached: they must not be read, and cached, a second time.
        if !open.isEmpty {
            try flush()
            if let place = rememberedPlace(of: id) { return place }
        }
        if changedCount > 0 { try flush() }
        guard let row = try table.row(with: id), let record = row.pack.index(of: id) else {
            return nil
        }
        usedLast = try remember(row)
        return Place(row: usedLast, record: record)
    }

    private func rememberedPlace(of id: UInt64) -> Place? {
        if usedLast < remembered.count, let record = remembered[usedLast].pack.index(of: id) {
            return Place(row: usedLast, record: record)
        }
        for row in remembered.indices.reversed() {
            guard let record = remembered[row].pack.index(of: id) else { continue }
            usedLast = row
            return Place(row: row, record: record)
        }
        return nil
    }

    private func job(at place: Place) throws(StoreFault) -> Job {
        try table.whole { () throws(DamagedRecord) in
            let row = remembered[place.row]
            return try row.pack.job(place.record, of: row.queue)
        }
    }

    /// The job of a number, if it is in a pack.
    func job(_ id: UInt64) throws(StoreFault) -> Job? {
        guard let place = try place(of: id, ifRemembered: false) else { return nil }
        return try job(at: place)
    }

    /// Whether the job of a number is in a pack.
    func contains(_ id: UInt64) throws(StoreFault) -> Bool {
        if open.contains(id) { return true }
        return try place(of: id, ifRemembered: false) != nil
    }
}
