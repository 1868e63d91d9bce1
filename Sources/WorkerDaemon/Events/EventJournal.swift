// The latest events, from which all readers are served. Nothing is queued for a reader: it comes
// for more while its client has room, and is told how much it has missed.
//
// Events are recorded from the first reader on, and for a minute behind the last one, so that a
// reader whose connection broke can go on. While nothing is recorded, the daemon pays one
// comparison for each change.

internal import Jobs
internal import RunLoops
internal import Structures

/// The latest events of the daemon.
///
/// Confined to its loop's thread.
final class EventJournal {
    /// How long events are recorded behind the last reader.
    static let patience = Duration.seconds(60)
    static let epochDigitCount = 16

    /// Names this run of the daemon: numbers of another one mean nothing.
    let epoch: String
    private(set) var ring: NumberedRing<DaemonEvent>
    /// The readers, by the numbers of their sessions.
    private var readers: [UInt64: EventReader] = [:]
    private(set) var isRecording = false
    /// The number from which on everything was recorded.
    private var firstNumber: UInt64 = 1
    private let loop: ThreadRunLoop
    private var timeout: ThreadRunLoop.Timeout?
    private var isTellingDue = false
    /// Told whether changes are to be noted.
    private let follow: (Bool) -> Void

    /// - Parameters:
    ///   - epoch: names this run of the daemon.
    ///   - countMax: the most events that are kept.
    ///   - byteCountMax: the most memory that they take.
    ///   - follow: told whether changes are to be noted.
    init(
        epoch: String, countMax: Int, byteCountMax: Int, loop: ThreadRunLoop,
        follow: @escaping (Bool) -> Void
    ) {
        self.epoch = epoch
        ring = NumberedRing(countMax: countMax, byteCountMax: byteCountMax)
        self.loop = loop
        self.follow = follow
    }

    /// A name for a run of the daemon.
    static func newEpoch() -> String {
        let digits = String(UInt64.random(in: 0...(.max)), radix: 16)
        return String(repeating: "0", count: epochDigitCount - digits.count) + digits
    }

    // MARK: - Events

    /// Records an event, if there is or was a reader lately.
    func record(_ event: @autoclosure () -> DaemonEvent) {
        guard isRecording else { return }
        let event = event()
        ring.append(event, byteCount: event.byteCount)
        guard !isTellingDue, !readers.isEmpty else { return }
        isTellingDue = true
        let journal = Confined(self, to: loop)
        loop.perform { journal.value.tell() }
    }

    func record(_ change: SchedulerChange) {
        switch change {
        case .job(let change): record(DaemonEvent.job(change))
        case .fired(let thread, let before, let at):
            record(
                DaemonEvent.thread(
                    ThreadChange(kind: .fired, name: thread, at: at, before: before)))
        }
    }

    /// Has the readers come for more.
    private func tell() {
        isTellingDue = false
        for reader in readers.values { reader.wake() }
    }

    /// Keeps so many events, and so much of them, from now on.
    func limit(countMax: Int, byteCountMax: Int) {
        ring.limit(countMax: countMax, byteCountMax: byteCountMax)
    }

    // MARK: - Readers

    /// Begins to serve a session, in place of an earlier reader of it.
    ///
    /// - Parameter place: the reader has read all up to it; nil for none.
    func add(_ reader: EventReader, of session: UInt64, behind place: EventPlace?) {
        if let timeout { loop.cancel(timeout) }
        timeout = nil
        if !isRecording {
            isRecording = true
            firstNumber = ring.next
            follow(true)
        }
        reader.begin(in: self, from: start(behind: place))
        readers[session] = reader
        reader.wake()
    }

    /// The number of the first event for a reader; nil if what it has missed is not known.
    private func start(behind place: EventPlace?) -> UInt64? {
        guard let place else { return ring.next }
        guard place.epoch == epoch, place.number < ring.next, place.number + 1 >= firstNumber
        else { return nil }
        return place.number + 1
    }

    /// Ends the reader of a session, if there is one.
    func remove(_ session: UInt64) {
        guard readers.removeValue(forKey: session) != nil, readers.isEmpty else { return }
        let journal = Confined(self, to: loop)
        timeout = loop.schedule(after: Self.patience) { journal.value.stop() }
    }

    /// No reader has come back.
    private func stop() {
        timeout = nil
        isRecording = false
        ring.interrupt()
        follow(false)
    }

    func close() {
        if let timeout { loop.cancel(timeout) }
        timeout = nil
        readers = [:]
        isRecording = false
    }
}
