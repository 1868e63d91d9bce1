// A job in bytes, as a pack stores it: a field that most jobs lack takes no room. The numbers of
// the flags and of the outcomes are on disks, so they never change.

internal import Jobs
internal import Journals

/// Writes jobs in bytes and reads them.
enum JobRecord {
    private enum Flag {
        /// Its thread and priority are in the record, not in the pack's row.
        static let queue: UInt64 = 1
        static let dueAt: UInt64 = 2
        static let timeout: UInt64 = 4
        static let key: UInt64 = 8
        static let retryBlocks: UInt64 = 16
        static let worker: UInt64 = 32
        static let startedAt: UInt64 = 64
        /// It has ended: the record has its outcome, and not its payload.
        static let ended: UInt64 = 128
        /// Options that are only carried along.
        static let carried: UInt64 = 256
    }

    /// The largest size of a record beside its byte strings: flags, numbers and lengths.
    private static let fixedByteCountMax = 18 * RecordWriter.numberByteCountMax

    /// Writes a job; without its queue if all jobs of a pack have the same.
    static func write(_ job: Job, withQueue: Bool, to record: inout RecordWriter) {
        var flags: UInt64 = 0
        if withQueue { flags |= Flag.queue }
        if job.dueAt != nil { flags |= Flag.dueAt }
        if job.timeoutMilliseconds != nil { flags |= Flag.timeout }
        if job.key != nil { flags |= Flag.key }
        if job.retryBlocks { flags |= Flag.retryBlocks }
        if job.workerName != nil { flags |= Flag.worker }
        if job.startedAt != nil { flags |= Flag.startedAt }
        if job.outcome != nil { flags |= Flag.ended }
        let carried = job.details.options.carried
        if carried != nil { flags |= Flag.carried }
        let textByteCount =
            job.thread.utf8.count + job.selector.utf8.count + (job.key?.count ?? 0)
            + (carried?.count ?? 0) + (job.workerName?.utf8.count ?? 0)
        let size = fixedByteCountMax + textByteCount + job.byteCount
        record.write(atMost: size) { bytes, place in
            bytes.write(flags, at: &place)
            if withQueue {
                bytes.write(job.thread.utf8.span, at: &place)
                bytes.write(UInt64(job.priority.rawValue), at: &place)
            }
            bytes.write(job.selector.utf8.span, at: &place)
            bytes.write(job.acceptedAt, at: &place)
            bytes.write(UInt64(job.retryCountMax), at: &place)
            bytes.write(UInt64(job.attempt), at: &place)
            bytes.write(UInt64(job.forgivenCount), at: &place)
            if let dueAt = job.dueAt { bytes.write(dueAt, at: &place) }
            if let timeout = job.timeoutMilliseconds { bytes.write(timeout, at: &place) }
            if let key = job.key { bytes.write(key.span, at: &place) }
            if let carried { bytes.write(carried.span, at: &place) }
            if let worker = job.workerName { bytes.write(worker.utf8.span, at: &place) }
            if let startedAt = job.startedAt { bytes.write(startedAt, at: &place) }
            if let outcome = job.outcome {
                write(outcome, at: job.endedAt ?? 0, &bytes, &place)
            } else {
                bytes.write(job.payload.span, at: &place)
            }
        }
    }

    private static func write(
        _ outcome: Outcome, at endedAt: Int64, _ bytes: inout MutableSpan<UInt8>,
        _ place: inout Int
    ) {
        let (code, result) = JobColumns.encode(outcome)
        bytes.write(endedAt, at: &place)
        bytes.write(UInt64(code), at: &place)
        if let result {
            bytes.write(result.span, at: &place)
        } else {
            bytes.write(0 as UInt64, at: &place)
        }
    }

    /// Writes the end of a waiting job: the request is copied as it is in its record.
    ///
    /// - Parameters:
    ///   - waiting: at the record of a job of a queue, for which nothing had been recorded.
    ///   - queue: that queue, as `queue` gives it.
    ///   - attempt: the attempt that it ended with; nil for a job that had not begun.
    static func writeEnd(
        of waiting: inout RecordReader, in queue: [UInt8], _ attempt: Attempt?,
        _ outcome: Outcome, at now: Int64, to record: inout RecordWriter
    ) throws(DamagedRecord) {
        let fields = try Fields(&waiting)
        let unexpected = Flag.queue | Flag.worker | Flag.startedAt | Flag.ended
        guard fields.flags & unexpected == 0 else { throw DamagedRecord() }
        var flags = fields.flags
        flags |= Flag.queue | Flag.ended
        if attempt?.workerName != nil { flags |= Flag.worker }
        if attempt?.startedAt != nil { flags |= Flag.startedAt }
        let source = waiting.bytes
        let size =
            fixedByteCountMax + queue.count + fields.byteString - fields.asked
            + (attempt?.workerName?.utf8.count ?? 0) + outcome.byteCount
        record.write(atMost: size) { bytes, place in
            bytes.write(flags, at: &place)
            bytes.copy(queue.span, at: &place)
            bytes.copy(source.span.extracting(fields.asked..<fields.attempt), at: &place)
            bytes.write(attempt.map { UInt64($0.number) } ?? fields.attemptNumber, at: &place)
            bytes.copy(source.span.extracting(fields.rest..<fields.byteString), at: &place)
            if let worker = attempt?.workerName { bytes.write(worker.utf8.span, at: &place) }
            if let startedAt = attempt?.startedAt { bytes.write(startedAt, at: &place) }
            write(outcome, at: now, &bytes, &place)
        }
    }

    /// A queue in the form of records.
    static func queue(_ queue: QueueName) -> [UInt8] {
        var bytes = [UInt8](
            repeating: 0, count: queue.thread.utf8.count + 2 * RecordWriter.numberByteCountMax)
        var place = 0
        var span = bytes.mutableSpan
        span.write(queue.thread.utf8.span, at: &place)
        span.write(UInt64(queue.priority.rawValue), at: &place)
        bytes.removeLast(bytes.count - place)
        return bytes
    }

    /// Reads the job of a number.
    ///
    /// - Parameters:
    ///   - queue: its queue, if that is not in its record.
    ///   - withBytes: false leaves its payload or result out, which `record` reads next.
    static func read(
        _ id: UInt64, of queue: QueueName?, _ record: inout RecordReader, withBytes: Bool
    ) throws(DamagedRecord) -> Job {
        let flags = try record.number()
        var queue = queue
        if flags & Flag.queue != 0 {
            let thread = try record.text()
            let priority = try record.number()
            queue = QueueName(
                thread: thread, priority: Priority(rawValue: Int(clamping: priority)) ?? .normal)
        }
        guard let queue else { throw DamagedRecord() }
        var request = JobRequest(
            thread: queue.thread, selector: try record.text(), priority: queue.priority)
        let acceptedAt = try record.signedNumber()
        var options = JobOptions()
        options.retryCountMax = Int(clamping: try record.number())
        var progress = Job.Progress()
        progress.attempt = Int(clamping: try record.number())
        progress.forgivenCount = Int(clamping: try record.number())
        if flags & Flag.dueAt != 0 { progress.dueAt = try record.signedNumber() }
        if flags & Flag.timeout != 0 {
            options.timeoutMilliseconds = try record.signedNumber()
        }
        if flags & Flag.key != 0 { options.key = try record.byteString() }
        if flags & Flag.carried != 0 { options.carried = try record.byteString() }
        options.retryBlocks = flags & Flag.retryBlocks != 0
        request.options = SharedJobOptions(options)
        if flags & Flag.worker != 0 { progress.workerName = try record.text() }
        if flags & Flag.startedAt != 0 { progress.startedAt = try record.signedNumber() }
        if flags & Flag.ended != 0 {
            progress.endedAt = try record.signedNumber()
            let code = Int64(clamping: try record.number())
            progress.outcome = JobColumns.decode(
                code, withBytes ? try record.byteString() : [])
        } else if withBytes {
            request.payload = try record.byteString()
        }
        return Job(
            id: JobID(id), request: request, acceptedAt: acceptedAt,
            state: progress.outcome?.state ?? .waiting, progress: progress)
    }

    /// The selector in a record, and the size of its payload or result.
    static func counted(
        _ record: inout RecordReader
    ) throws(DamagedRecord) -> (selector: String, byteCount: Int) {
        let fields = try Fields(&record)
        var asked = RecordReader(record.bytes, at: fields.asked)
        return (try asked.text(), try record.skip())
    }

    /// The places of the values in a record that is skipped over.
    private struct Fields {
        let flags: UInt64
        /// The place of the request, behind the queue.
        let asked: Int
        /// The last attempt, and its place.
        let attempt: Int
        let attemptNumber: UInt64
        /// The place behind the attempt.
        let rest: Int
        /// The place of its payload or result.
        let byteString: Int

        /// Moves a reader to the payload or result.
        init(_ record: inout RecordReader) throws(DamagedRecord) {
            flags = try record.number()
            if flags & Flag.queue != 0 {
                _ = try record.skip()
                _ = try record.number()
            }
            asked = record.place
            _ = try record.skip()
            for _ in 0..<2 { _ = try record.number() }
            attempt = record.place
            attemptNumber = try record.number()
            rest = record.place
            _ = try record.number()
            if flags & Flag.dueAt != 0 { _ = try record.number() }
            if flags & Flag.timeout != 0 { _ = try record.number() }
            if flags & Flag.key != 0 { _ = try record.skip() }
            if flags & Flag.carried != 0 { _ = try record.skip() }
            if flags & Flag.worker != 0 { _ = try record.skip() }
            if flags & Flag.startedAt != 0 { _ = try record.number() }
            if flags & Flag.ended != 0 {
                for _ in 0..<2 { _ = try record.number() }
            }
            byteString = record.place
        }
    }
}
