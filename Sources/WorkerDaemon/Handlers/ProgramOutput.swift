// The output of programs, kept for OUTPUT: the end of what each attempt has written. In memory
// only; the result of an attempt that succeeded is the job's, and is not kept twice.

internal import Structures
internal import Synchronization

/// The end of a stream, and the length of all of it.
struct StreamTail: Sendable {
    /// The number of bytes that are kept.
    static let byteCountMax = 64 << 10

    /// At most twice the limit, so that bytes are moved once for each limit's worth of them.
    private var kept: [UInt8] = []
    /// The number of bytes that were written.
    private(set) var writtenByteCount = 0

    /// The last bytes.
    var bytes: [UInt8] { kept.suffix(Self.byteCountMax) }

    mutating func append(_ bytes: ArraySlice<UInt8>) {
        writtenByteCount += bytes.count
        kept += bytes.suffix(Self.byteCountMax)
        if kept.count > 2 * Self.byteCountMax {
            kept.removeFirst(kept.count - Self.byteCountMax)
        }
    }

    /// Forgets the bytes, and keeps their number.
    mutating func drop() { kept = [] }

    /// Gives back the memory that only a stream that goes on needs.
    mutating func trim() { kept = Array(kept.suffix(Self.byteCountMax)) }
}

/// The output of one attempt of a job.
///
/// - Thread: any thread.
final class ProgramOutput: Sendable {
    /// Both streams at one moment.
    struct Reading: Sendable {
        var output = StreamTail()
        var errors = StreamTail()

        /// The bytes that are kept.
        var byteCount: Int { output.bytes.count + errors.bytes.count }
    }

    let job: UInt64
    let attempt: Int
    private let streams = Mutex(Reading())

    fileprivate init(job: UInt64, attempt: Int) {
        self.job = job
        self.attempt = attempt
    }

    /// Both streams as they are now.
    var reading: Reading { streams.withLock { $0 } }

    func appendOutput(_ bytes: ArraySlice<UInt8>) {
        streams.withLock { $0.output.append(bytes) }
    }

    func appendErrors(_ bytes: ArraySlice<UInt8>) {
        streams.withLock { $0.errors.append(bytes) }
    }

    /// The attempt has ended.
    ///
    /// - Returns: the number of bytes that are kept of it.
    fileprivate func end(isDone: Bool) -> Int {
        streams.withLock { streams in
            if isDone { streams.output.drop() }
            streams.output.trim()
            streams.errors.trim()
            return streams.byteCount
        }
    }
}

/// The output of the attempts of all jobs, within a limit: the oldest are dropped first.
///
/// - Thread: any thread.
final class OutputBook: Sendable {
    /// The size of the books of an attempt, about; it counts as well.
    static let attemptByteCount = 256

    private struct State {
        /// The attempts of each job, the oldest first.
        var attempts: [UInt64: [ProgramOutput]] = [:]
        /// The attempts that have ended, the oldest first, with the bytes that they count for;
        /// forgotten ones among them.
        var ended = FIFO<(output: ProgramOutput, byteCount: Int)>()
        /// How many of these are forgotten.
        var forgottenCount = 0
        var byteCount = 0
        var byteCountMax: Int

        init(byteCountMax: Int) { self.byteCountMax = byteCountMax }

        func isKept(_ output: ProgramOutput) -> Bool {
            attempts[output.job]?.contains { $0 === output } == true
        }

        mutating func remove(_ output: ProgramOutput) {
            attempts[output.job]?.removeAll { $0 === output }
            if attempts[output.job]?.isEmpty == true { attempts[output.job] = nil }
        }

        mutating func removeOldest() {
            guard let oldest = ended.popFirst() else { return }
            guard isKept(oldest.output) else { return forgottenCount -= 1 }
            byteCount -= oldest.byteCount
            remove(oldest.output)
        }

        /// Removes forgotten attempts once they are most of all.
        mutating func sweep() {
            guard forgottenCount > ended.count / 2 else { return }
            for _ in 0..<ended.count {
                guard let next = ended.popFirst() else { break }
                if isKept(next.output) { ended.append(next) }
            }
            forgottenCount = 0
        }
    }

    private let state: Mutex<State>

    /// - Parameter byteCountMax: the limit for all attempts that have ended. A running one has its
    ///   two streams beside it.
    init(byteCountMax: Int) { state = Mutex(State(byteCountMax: byteCountMax)) }

    /// Changes the limit; the oldest attempts beyond it are dropped.
    func limit(byteCount: Int) {
        state.withLock { state in
            state.byteCountMax = byteCount
            while state.byteCount > byteCount { state.removeOldest() }
        }
    }

    /// The bytes that are kept of attempts that have ended.
    var byteCount: Int { state.withLock { $0.byteCount } }

    /// An attempt begins.
    func begin(job: UInt64, attempt: Int) -> ProgramOutput {
        let output = ProgramOutput(job: job, attempt: attempt)
        state.withLock { $0.attempts[job, default: []].append(output) }
        return output
    }

    /// An attempt has ended; one that has written nothing is not kept.
    func end(_ output: ProgramOutput, isDone: Bool) {
        let written = output.end(isDone: isDone)
        state.withLock { state in
            guard written > 0, written + Self.attemptByteCount <= state.byteCountMax else {
                return state.remove(output)
            }
            let byteCount = written + Self.attemptByteCount
            state.ended.append((output, byteCount))
            state.byteCount += byteCount
            while state.byteCount > state.byteCountMax { state.removeOldest() }
        }
    }

    /// Forgets the attempts of a job that has ended.
    func forget(_ job: UInt64) {
        state.withLock { state in
            guard let forgotten = state.attempts.removeValue(forKey: job) else { return }
            state.forgottenCount += forgotten.count
            for output in forgotten {
                state.byteCount -= output.reading.byteCount + Self.attemptByteCount
            }
            state.sweep()
        }
    }

    /// The kept attempts of a job, the oldest first.
    func attempts(of job: UInt64) -> [ProgramOutput] {
        state.withLock { $0.attempts[job] ?? [] }
    }
}
