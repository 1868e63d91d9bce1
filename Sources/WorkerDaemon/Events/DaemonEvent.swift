// Events as readers are told, over both protocols: one description that is a map of RESP and an
// object of JSON.

internal import Jobs
internal import RESP

/// A change of a job or a thread.
enum DaemonEvent {
    case job(JobChange)
    case thread(ThreadChange)

    /// The name of its kind on the wire.
    var kind: String {
        switch self {
        case .job: "job"
        case .thread: "thread"
        }
    }

    /// The memory that it takes in the journal.
    var byteCount: Int {
        let beyond: Int =
            switch self {
            case .job(let change): change.memoryByteCount
            case .thread: 0
            }
        return MemoryLayout<DaemonEvent>.stride + beyond
    }

    /// The entries of its description.
    ///
    /// - Parameter showsPayloads: whether the reader may see what clients have put into jobs.
    func entries(showsPayloads: Bool) -> [RESPValue.Entry] {
        switch self {
        case .job(let change):
            change.entries + (showsPayloads ? change.sensitiveEntries : [])
        case .thread(let change): change.entries
        }
    }
}

/// A change of a thread or pool.
struct ThreadChange {
    enum Kind: String {
        case paused, resumed, stopped
        /// Its buffered jobs were fired.
        case fired
    }

    let kind: Kind
    let name: String
    /// In Unix milliseconds.
    let at: Int64
    /// Of `fired`: jobs with this number and later ones were buffered after the command.
    var before: JobID?

    fileprivate var entries: [RESPValue.Entry] {
        [
            entry("time", .integer(Int(at))), entry("thread", text(name)),
            entry("change", text(kind.rawValue)),
        ] + (before.map { [entry("before", .integer(Int($0.number)))] } ?? [])
    }
}

extension JobChange {
    /// The entries that every reader may see.
    fileprivate var entries: [RESPValue.Entry] {
        var entries = [
            entry("time", .integer(Int(at))), entry("job", .integer(Int(id.number))),
            entry("change", text(kind.rawValue)), entry("state", text(state)),
        ]
        if let thread { entries.append(entry("thread", text(thread))) }
        if let selector { entries.append(entry("selector", text(selector))) }
        if attempt > 0 { entries.append(entry("attempt", .integer(attempt))) }
        if let worker { entries.append(entry("worker", text(worker))) }
        if let dueAt { entries.append(entry("due", .integer(Int(dueAt)))) }
        return entries
    }

    /// Texts of clients and handlers in the job: only for readers that may see payloads.
    fileprivate var sensitiveEntries: [RESPValue.Entry] {
        var entries: [RESPValue.Entry] = []
        if let key { entries.append(entry("key", .bulk(key))) }
        if let label { entries.append(entry("label", .bulk(label))) }
        if let failure { entries.append(entry("failure", text(failure))) }
        return entries
    }
}

/// The place of an event: `EPOCH-NUMBER`.
struct EventPlace: Equatable, CustomStringConvertible {
    let epoch: String
    let number: UInt64

    init(_ epoch: String, _ number: UInt64) {
        self.epoch = epoch
        self.number = number
    }

    /// Reads what `description` writes; nil for anything else.
    init?(text: String) {
        let halves = text.split(separator: "-", omittingEmptySubsequences: false)
        guard halves.count == 2, halves[0].utf8.count == EventJournal.epochDigitCount,
            let number = UInt64(halves[1]), String(number) == halves[1]
        else { return nil }
        epoch = String(halves[0])
        self.number = number
    }

    var description: String { "\(epoch)-\(number)" }
}
