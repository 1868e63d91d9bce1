// Records of jobs that were written together, as one row of a table: they share SQLite's cost for a
// row. A record is never changed. A mask of constant size beside the records says which of them
// still count, so that SQLite changes it in place.

internal import Jobs

/// Some jobs in bytes.
struct Pack {
    /// The number of records: a bit of the mask for each.
    static let countMax = 64
    /// The largest distance between numbers in a pack, and so the range of a search for one.
    static let spanMax: UInt64 = 1_024
    /// The size of the records at which a pack takes no more.
    static let byteCountMax = 32 << 10

    /// The numbers of the jobs, in the order of their records.
    private(set) var ids: [UInt64] = []
    /// The places of the records, behind their numbers and sizes.
    private var places: [Int] = []
    /// The records, each behind its number and its size.
    private(set) var bytes: [UInt8] = []
    /// The smallest number and the largest.
    private(set) var first = UInt64.max
    private(set) var last: UInt64 = 0
    /// Bit n says that record n counts.
    private(set) var kept: UInt64 = 0

    init() {
        ids.reserveCapacity(Self.countMax)
        places.reserveCapacity(Self.countMax)
    }

    /// Reads a pack as it was written.
    init(_ bytes: [UInt8], kept: [UInt8]) throws(DamagedRecord) {
        var reader = RecordReader(bytes)
        while !reader.isAtEnd {
            let id = try reader.number()
            let size = try reader.count()
            note(id, at: reader.place)
            reader.advance(size)
        }
        guard kept.count == 8, !ids.isEmpty, ids.count <= Self.countMax, first > 0,
            last <= UInt64(Int64.max)
        else { throw DamagedRecord() }
        self.bytes = bytes
        self.kept = kept.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    var isEmpty: Bool { ids.isEmpty }
    var keptCount: Int { kept.nonzeroBitCount }

    /// The mask as it is written, of constant size.
    var keptBytes: [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: kept >> UInt64($0 * 8)) }
    }

    /// Whether the record of this number may be added.
    private func takes(_ id: UInt64) -> Bool {
        guard !ids.isEmpty else { return true }
        return ids.count < Self.countMax && bytes.count < Self.byteCountMax
            && max(last, id) - min(first, id) < Self.spanMax
    }

    /// Adds a record; a pack that does not take it is replaced by a fresh one first.
    ///
    /// - Returns: the replaced pack; nil if this one has taken the record.
    mutating func append(_ id: UInt64, _ record: inout RecordWriter) -> Pack? {
        var full: Pack?
        if !takes(id) {
            full = self
            self = Pack()
        }
        bytes.append(contentsOf: record.behind(id))
        note(id, at: bytes.count - record.count)
        kept |= 1 << UInt64(ids.count - 1)
        return full
    }

    private mutating func note(_ id: UInt64, at place: Int) {
        ids.append(id)
        places.append(place)
        first = min(first, id)
        last = max(last, id)
    }

    /// The index of the record with this number; nil if there is none that counts.
    func index(of id: UInt64) -> Int? {
        guard first <= id, id <= last else { return nil }
        // In most packs the numbers are consecutive.
        let guess = Int(id - first)
        if guess < ids.count, ids[guess] == id { return keeps(guess) ? guess : nil }
        guard let index = ids.firstIndex(of: id), keeps(index) else { return nil }
        return index
    }

    func keeps(_ index: Int) -> Bool { kept >> UInt64(index) & 1 != 0 }

    /// Clears the bit of a record, which no longer counts.
    mutating func drop(_ index: Int) { kept &= ~(1 << UInt64(index)) }

    /// Clears the bits of the first records.
    mutating func dropFirst(_ count: Int) {
        for _ in 0..<min(count, keptCount) { kept &= kept - 1 }
    }

    /// A reader of a record.
    func reader(of index: Int) -> RecordReader { RecordReader(bytes, at: places[index]) }

    /// Reads the job of a record.
    func job(
        _ index: Int, of queue: QueueName?, withBytes: Bool = true
    ) throws(DamagedRecord) -> Job {
        var reader = reader(of: index)
        return try JobRecord.read(ids[index], of: queue, &reader, withBytes: withBytes)
    }

    /// Reads the end of an ended job without its result: its time, and the result's size.
    func ended(_ index: Int) throws(DamagedRecord) -> RetainedJobs.Entry {
        var reader = reader(of: index)
        let job = try JobRecord.read(ids[index], of: nil, &reader, withBytes: false)
        return RetainedJobs.Entry(
            id: job.id, endedAt: job.endedAt ?? 0, byteCount: try reader.skip())
    }

    /// Reads the part of a waiting job that is counted.
    func counted(_ index: Int) throws(DamagedRecord) -> CountedJob {
        var reader = reader(of: index)
        let (selector, byteCount) = try JobRecord.counted(&reader)
        return CountedJob(
            id: JobID(ids[index]), state: .waiting, selector: selector, byteCount: byteCount)
    }

    /// The indices of the records that count.
    var keptIndices: [Int] { ids.indices.filter { keeps($0) } }
}
