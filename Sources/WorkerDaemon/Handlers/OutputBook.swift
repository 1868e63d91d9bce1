// The output of programs, kept for OUTPUT. In memory only; the result of an attempt that succeeded
// is the job's, and is not kept twice.

internal import Synchronization

/// The output of the attempts of all jobs, within a limit: the oldest are dropped first.
///
/// The bytes of attempts that have ended lie in one buffer. An object for each would live in the
/// memory of the thread that made it, and the allocator could not give back the memory of threads
/// that a reload has ended.
///
/// - Thread: any thread.
/// - Complexity: O(1) for each attempt, amortised, beside the copy of its bytes.
final class OutputBook: Sendable {
    /// The size of the books of an attempt, about; it counts as well.
    static let attemptByteCount = 256

    private let state: Mutex<State>

    /// - Parameter byteCountMax: the limit for all attempts that have ended. A running one has its
    ///   two streams beside it.
    init(byteCountMax: Int) { state = Mutex(State(byteCountMax: byteCountMax)) }

    /// Changes the limit; the oldest attempts beyond it are dropped.
    func limit(byteCount: Int) {
        state.withLock { state in
            state.byteCountMax = byteCount
            state.keepLimit()
        }
    }

    /// The bytes that are kept of attempts that have ended.
    var byteCount: Int { state.withLock { $0.countedByteCount } }

    /// The size of the buffer.
    ///
    /// Dropped bytes take at most 64 KB of it, or a quarter of the kept bytes.
    var bufferByteCount: Int { state.withLock { $0.bytes.count } }

    /// Adds an attempt that begins.
    func begin(job: UInt64, attempt: Int) -> ProgramOutput {
        let output = ProgramOutput(job: job, attempt: attempt)
        state.withLock { $0.running[job, default: []].append(output) }
        return output
    }

    /// Moves the output of an attempt that has ended into the buffer.
    ///
    /// Output without bytes is dropped, and output of a job that was forgotten meanwhile.
    func end(_ output: ProgramOutput, isDone: Bool) {
        var reading = output.reading
        if isDone { reading.output.drop() }
        state.withLock { state in
            guard state.remove(output) else { return }
            state.append(reading, of: output)
        }
    }

    /// Forgets the attempts of a job that has ended.
    func forget(_ job: UInt64) { state.withLock { $0.forget(job) } }

    /// The output of one attempt.
    ///
    /// - Parameter attempt: 0 for the latest.
    /// - Returns: the numbers of all kept attempts of the job, the oldest first, and the wanted
    ///   one; nil if that is not kept.
    func reading(
        of job: UInt64, attempt: Int
    ) -> (attempts: [Int], attempt: Int, reading: ProgramOutput.Reading)? {
        state.withLock { state in
            let ended = state.entries(of: job)
            let running = state.running[job] ?? []
            let attempts = ended.map { state.entries[$0].attempt } + running.map(\.attempt)
            if let found = running.last(where: { attempt == 0 || $0.attempt == attempt }) {
                return (attempts, found.attempt, found.reading)
            }
            guard
                let found = ended.last(where: {
                    attempt == 0 || state.entries[$0].attempt == attempt
                })
            else { return nil }
            return (attempts, state.entries[found].attempt, state.reading(found))
        }
    }
}

/// An attempt that has ended.
private struct Entry {
    let job: UInt64
    let attempt: Int
    /// The place of the entry of its job's attempt before; nil if there is none, or if that was
    /// dropped.
    var previous: Int?
    /// Where its bytes begin in the buffer: those of its output, then those of its errors.
    var offset: Int
    let outputByteCount: Int
    let errorsByteCount: Int
    let writtenByteCounts: (output: Int, errors: Int)
    var isDropped = false

    var byteCount: Int { outputByteCount + errorsByteCount }
}

private struct State {
    /// The attempts of each job that run, the oldest first.
    var running: [UInt64: [ProgramOutput]] = [:]
    /// The attempts that have ended, the oldest first, and dropped ones among them.
    private(set) var entries: [Entry] = []
    /// The bytes of all entries, in their order.
    private(set) var bytes: [UInt8] = []
    /// The place of the latest entry of each job.
    private var latest: [UInt64: Int] = [:]
    /// The entries before this one are dropped.
    private var oldest = 0
    /// The number of entries that are not dropped, and of their bytes.
    private var keptCount = 0
    private var keptByteCount = 0
    var byteCountMax: Int

    init(byteCountMax: Int) { self.byteCountMax = byteCountMax }

    /// The bytes that count for the limit.
    var countedByteCount: Int { keptByteCount + keptCount * OutputBook.attemptByteCount }

    /// The places of a job's entries, the oldest first.
    func entries(of job: UInt64) -> [Int] {
        var found: [Int] = []
        var next = latest[job]
        while let place = next, !entries[place].isDropped {
            found.append(place)
            next = entries[place].previous
        }
        return found.reversed()
    }

    func reading(_ place: Int) -> ProgramOutput.Reading {
        let entry = entries[place]
        let middle = entry.offset + entry.outputByteCount
        let end = entry.offset + entry.byteCount
        return ProgramOutput.Reading(
            output: StreamTail(
                kept: bytes[entry.offset..<middle], of: entry.writtenByteCounts.output),
            errors: StreamTail(kept: bytes[middle..<end], of: entry.writtenByteCounts.errors))
    }

    /// Removes an attempt that has ended.
    ///
    /// - Returns: false if it was forgotten meanwhile.
    mutating func remove(_ output: ProgramOutput) -> Bool {
        guard var attempts = running[output.job],
            let place = attempts.firstIndex(where: { $0 === output })
        else { return false }
        attempts.remove(at: place)
        running[output.job] = attempts.isEmpty ? nil : attempts
        return true
    }

    mutating func append(_ reading: ProgramOutput.Reading, of output: ProgramOutput) {
        let (written, complaints) = (reading.output.bytes, reading.errors.bytes)
        let count = written.count + complaints.count
        guard count > 0, count + OutputBook.attemptByteCount <= byteCountMax else { return }
        entries.append(
            Entry(
                job: output.job, attempt: output.attempt, previous: latest[output.job],
                offset: bytes.count, outputByteCount: written.count,
                errorsByteCount: complaints.count,
                writtenByteCounts: (
                    reading.output.writtenByteCount, reading.errors.writtenByteCount
                )))
        bytes += written
        bytes += complaints
        latest[output.job] = entries.count - 1
        keptCount += 1
        keptByteCount += count
        keepLimit()
    }

    /// Drops the oldest entries beyond the limit.
    mutating func keepLimit() {
        while countedByteCount > byteCountMax {
            if !entries[oldest].isDropped {
                let job = entries[oldest].job
                if latest[job] == oldest { latest[job] = nil }
                drop(oldest)
            }
            oldest += 1
        }
        compact()
    }

    mutating func forget(_ job: UInt64) {
        // Asked for each job, and most have no program.
        guard !latest.isEmpty || !running.isEmpty else { return }
        running[job] = nil
        guard latest[job] != nil else { return }
        for place in entries(of: job) { drop(place) }
        latest[job] = nil
        compact()
    }

    private mutating func drop(_ place: Int) {
        entries[place].isDropped = true
        keptCount -= 1
        keptByteCount -= entries[place].byteCount
    }

    /// Moves the kept entries together once the dropped ones take too much room.
    private mutating func compact() {
        let dropped = (count: entries.count - keptCount, bytes: bytes.count - keptByteCount)
        guard dropped.count > max(64, keptCount) || dropped.bytes > max(64 << 10, keptByteCount / 4)
        else { return }
        var kept: [Entry] = []
        kept.reserveCapacity(2 * keptCount)
        var together: [UInt8] = []
        together.reserveCapacity(keptByteCount + keptByteCount / 4)
        for var entry in entries where !entry.isDropped {
            together += bytes[entry.offset..<entry.offset + entry.byteCount]
            entry.offset = together.count - entry.byteCount
            if let previous = entry.previous, entries[previous].isDropped { entry.previous = nil }
            // The entries of a job keep their order, so its latest one is the one before.
            if entry.previous != nil { entry.previous = latest[entry.job] }
            latest[entry.job] = kept.count
            kept.append(entry)
        }
        (entries, bytes, oldest) = (kept, together, 0)
    }
}
