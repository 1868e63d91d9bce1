// A job in bytes, as it lies in a pack: what most jobs do not have takes no room. The numbers of the
// flags and of the outcomes are what is on disks, so they stay what they are.

/// Writes jobs in bytes and reads them.
enum JobRecord {
    private enum Flag {
        /// Its thread and priority are in the record, not beside the pack.
        static let queue: UInt64 = 1
        static let dueAt: UInt64 = 2
        static let timeout: UInt64 = 4
        static let key: UInt64 = 8
        static let retryBlocks: UInt64 = 16
        static let worker: UInt64 = 32
        static let startedAt: UInt64 = 64
        /// It has ended: in its record is how, and not what it was given.
        static let ended: UInt64 = 128
    }

    /// Writes a job; without its queue if all of a pack have the same.
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
        record.write(flags)
        if withQueue {
            record.write(job.thread)
            record.write(UInt64(job.priority.rawValue))
        }
        record.write(job.selector)
        record.write(job.acceptedAt)
        record.write(UInt64(job.retryCountMax))
        record.write(UInt64(job.attempt))
        record.write(UInt64(job.forgivenCount))
        if let dueAt = job.dueAt { record.write(dueAt) }
        if let timeout = job.timeoutMilliseconds { record.write(timeout) }
        if let key = job.key { record.write(key) }
        if let worker = job.workerName { record.write(worker) }
        if let startedAt = job.startedAt { record.write(startedAt) }
        if let outcome = job.outcome {
            let (code, result) = SQLiteStore.encode(outcome)
            record.write(job.endedAt ?? 0)
            record.write(UInt64(code))
            record.write(result ?? [])
        } else {
            record.write(job.payload)
        }
    }

    /// Reads the job of a number.
    ///
    /// - Parameters:
    ///   - queue: where it waits, if that is not in its record.
    ///   - withBytes: without, its payload or result is left out.
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
        request.retryCountMax = Int(clamping: try record.number())
        var progress = Job.Progress()
        progress.attempt = Int(clamping: try record.number())
        progress.forgivenCount = Int(clamping: try record.number())
        if flags & Flag.dueAt != 0 { progress.dueAt = try record.signedNumber() }
        if flags & Flag.timeout != 0 { request.timeoutMilliseconds = try record.signedNumber() }
        if flags & Flag.key != 0 { request.key = try record.byteString() }
        request.retryBlocks = flags & Flag.retryBlocks != 0
        if flags & Flag.worker != 0 { progress.workerName = try record.text() }
        if flags & Flag.startedAt != 0 { progress.startedAt = try record.signedNumber() }
        if flags & Flag.ended != 0 {
            progress.endedAt = try record.signedNumber()
            let code = Int64(clamping: try record.number())
            progress.outcome = SQLiteStore.decode(
                code, withBytes ? try record.byteString() : [])
        } else if withBytes {
            request.payload = try record.byteString()
        }
        return Job(
            id: JobID(id), request: request, acceptedAt: acceptedAt,
            state: progress.outcome?.state ?? .waiting, progress: progress)
    }

    /// How many bytes of payload or result are in a record.
    static func byteCount(
        _ record: inout RecordReader
    ) throws(DamagedRecord) -> Int {
        let flags = try record.number()
        if flags & Flag.queue != 0 {
            _ = try record.skip()
            _ = try record.number()
        }
        _ = try record.skip()
        for _ in 0..<4 { _ = try record.number() }
        if flags & Flag.dueAt != 0 { _ = try record.number() }
        if flags & Flag.timeout != 0 { _ = try record.number() }
        if flags & Flag.key != 0 { _ = try record.skip() }
        if flags & Flag.worker != 0 { _ = try record.skip() }
        if flags & Flag.startedAt != 0 { _ = try record.number() }
        if flags & Flag.ended != 0 {
            _ = try record.number()
            _ = try record.number()
        }
        return try record.skip()
    }
}
