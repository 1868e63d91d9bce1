// The output of a running program: the last bytes that its attempt has written.

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

    init() {}

    /// A stream that has ended.
    ///
    /// - Parameters:
    ///   - kept: its last bytes.
    ///   - writtenByteCount: the number of all of them.
    init(kept: ArraySlice<UInt8>, of writtenByteCount: Int) {
        self.kept = Array(kept)
        self.writtenByteCount = writtenByteCount
    }

    mutating func append(_ bytes: ArraySlice<UInt8>) {
        writtenByteCount += bytes.count
        kept += bytes.suffix(Self.byteCountMax)
        if kept.count > 2 * Self.byteCountMax {
            kept.removeFirst(kept.count - Self.byteCountMax)
        }
    }

    /// Forgets the bytes, and keeps their number.
    mutating func drop() { kept = [] }
}

/// The output of one attempt of a job.
///
/// - Thread: any thread.
final class ProgramOutput: Sendable {
    /// Both streams at one moment.
    struct Reading: Sendable {
        var output = StreamTail()
        var errors = StreamTail()
    }

    let job: UInt64
    let attempt: Int
    private let streams = Mutex(Reading())

    init(job: UInt64, attempt: Int) {
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
}
