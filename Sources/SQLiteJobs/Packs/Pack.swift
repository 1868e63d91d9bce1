// Records of jobs that were written together, as one row of a table: what SQLite costs for a row is
// shared by all of them. A record is never changed; which of them still count is a mask beside them, of
// a size that stays, so that SQLite changes it where it lies.

internal import Jobs

/// Some jobs in bytes.
struct Pack {
    /// How many records: a bit of the mask for each.
    static let countMax = 64
    /// How far the numbers in a pack may be apart: whoever looks for one looks only so far.
    static let spanMax: UInt64 = 1_024
    /// No further record once they have this size together.
    static let byteCountMax = 32 << 10

    /// The numbers of the jobs, in the order of their records.
    private(set) var ids: [UInt64] = []
    /// Where the records begin, behind their numbers and sizes.
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

    /// The mask as it is written: always as large.
    var keptBytes: [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: kept >> UInt64($0 * 8)) }
    }

    /// Whether the record of this number may be added.
    private func takes(_ id: UInt64) -> Bool {
        guard !ids.isEmpty else { return true }
        return ids.count < Self.countMax && bytes.count < Self.byteCountMax
            && max(last, id) - min(first, id) < Self.spanMax
    }

    /// Adds a record; a pack that does not take it becomes a fresh one first.
    ///
    /// - Returns: what the pack was until then; nil if it has taken the record.
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

    /// Which record that counts is that of a number; nil if none is.
    func index(of id: UInt64) -> Int? {
        guard first <= id, id <= last else { return nil }
        // In most packs the numbers follow one another.
        let guess = Int(id - first)
        if guess < ids.count, ids[guess] == id { return keeps(guess) ? guess : nil }
        guard let index = ids.firstIndex(of: id), keeps(index) else { return nil }
        return index
    }

    func keeps(_ index: Int) -> Bool { kept >> UInt64(index) & 1 != 0 }

    /// The record of this index does not count any more.
    mutating func drop(_ index: Int) { kept &= ~(1 << UInt64(index)) }

    /// The first records do not count any more.
    mutating func dropFirst(_ count: Int) {
        for _ in 0..<min(count, keptCount) { kept &= kept - 1 }
    }

    /// What reads a record.
    func reader(of index: Int) -> RecordReader { RecordReader(bytes, at: places[index]) }

    /// Reads the job of a record.
    func job(
        _ index: Int, of queue: QueueName?, withBytes: Bool = true
    ) throws(DamagedRecord) -> Job {
        var reader = reader(of: index)
        return try JobRecord.read(ids[index], of: queue, &reader, withBytes: withBytes)
    }

    /// Reads how a job has ended, but for its result: when, and how large that is.
    func ended(_ index: Int) throws(DamagedRecord) -> RetainedJobs.Entry {
        var reader = reader(of: index)
        let job = try JobRecord.read(ids[index], of: nil, &reader, withBytes: false)
        return RetainedJobs.Entry(
            id: job.id, endedAt: job.endedAt ?? 0, byteCount: try reader.skip())
    }

    /// Reads of a job that waits what is counted.
    func counted(_ index: Int) throws(DamagedRecord) -> CountedJob {
        var reader = reader(of: index)
        let (selector, byteCount) = try JobRecord.counted(&reader)
        return CountedJob(
            id: JobID(ids[index]), state: .waiting, selector: selector, byteCount: byteCount)
    }

    /// The indices of the records that count.
    var keptIndices: [Int] { ids.indices.filter { keeps($0) } }
}
