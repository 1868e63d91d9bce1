// One reader of events: a place in the journal, and the events that it wants.

internal import Jobs
internal import RESP
internal import Structures

/// The events that a reader wants: all, or those of some threads.
struct EventFilter {
    /// The names of threads and pools; nil for all.
    private let names: Set<String>?
    /// The threads and selectors that the reader may touch; nil for all.
    private let scope: JobScope?

    /// - Parameters:
    ///   - addressed: the wanted names, each with its group; none for all.
    ///   - user: the reader.
    init(_ addressed: [(name: String, group: WorkerGroup)], for user: User) {
        scope = user.touchesAll ? nil : user.scope
        guard !addressed.isEmpty else {
            names = nil
            return
        }
        names = addressed.reduce(into: Set<String>()) { names, addressed in
            names.insert(addressed.name)
            // A pool's name means all of its threads.
            if addressed.name == addressed.group.name {
                names.formUnion(addressed.group.members.map(\.name))
            }
        }
    }

    func passes(_ event: DaemonEvent) -> Bool {
        if let scope, !Self.isWithin(scope, event) { return false }
        guard let names else { return true }
        switch event {
        case .thread(let change): return names.contains(change.name)
        case .job(let change):
            // Of a job that was dropped, only the number may be known.
            guard let thread = change.thread else { return true }
            return names.contains(thread) || change.worker.map(names.contains) == true
        }
    }
}

extension EventFilter {
    private static func isWithin(_ scope: JobScope, _ event: DaemonEvent) -> Bool {
        switch event {
        case .thread(let change): return scope.has(thread: change.name)
        case .job(let change):
            guard let thread = change.thread, let selector = change.selector else { return false }
            return scope.has(thread: thread) && scope.has(selector: selector)
        }
    }
}

/// A message of a stream of events.
enum EventMessage {
    /// The stream begins behind this place.
    case begin(EventPlace)
    case event(DaemonEvent, EventPlace)
    /// So many events were dropped, the last of them at this place; nil if that is not known.
    case missed(UInt64?, EventPlace)
}

/// A reader of events.
///
/// Confined to its journal's thread.
final class EventReader {
    private let filter: EventFilter
    private unowned var journal: EventJournal?
    private var cursor = RingReader(from: 1)
    /// The messages that come before the next event.
    private var first: [EventMessage] = []
    /// Called when there may be more to read.
    private let whenMore: () -> Void

    /// - Parameter whenMore: called when there may be more to read.
    init(_ filter: EventFilter, whenMore: @escaping () -> Void) {
        self.filter = filter
        self.whenMore = whenMore
    }

    /// The place behind which it goes on.
    private(set) var place = EventPlace("", 0)

    /// - Parameters:
    ///   - number: of the first event; nil if what was missed is not known.
    func begin(in journal: EventJournal, from number: UInt64?) {
        self.journal = journal
        self.journal = journal
        cursor = RingReader(from: number ?? journal.ring.oldest)
        place = EventPlace(journal.epoch, cursor.next - 1)
        first = number == nil ? [.missed(nil, place)] : []
    }

    /// Has the reader's client served.
    func wake() { whenMore() }

    /// The next message; nil if there is none.
    func next() -> EventMessage? {
        if !first.isEmpty { return first.removeFirst() }
        guard let journal else { return nil }
        while let step = cursor.take(from: journal.ring) {
            switch step {
            case .missed(let count, let number):
                place = EventPlace(journal.epoch, number)
                return .missed(count, place)
            case .element(let event, let number):
                place = EventPlace(journal.epoch, number)
                if filter.passes(event) { return .event(event, place) }
            }
        }
        return nil
    }
}

extension EventMessage {
    /// The name of the message's kind, its place, and its entries.
    private func parts(
        showsPayloads: Bool
    ) -> (kind: String, place: EventPlace, entries: [RESPValue.Entry]) {
        switch self {
        case .begin(let place): ("begin", place, [])
        case .event(let event, let place):
            (event.kind, place, event.entries(showsPayloads: showsPayloads))
        case .missed(let count, let place):
            ("missed", place, [entry("count", count.map { .integer(Int($0)) } ?? .null)])
        }
    }

    /// The message as a push of RESP 3.
    func push(showsPayloads: Bool) -> RESPValue {
        let (kind, place, entries) = parts(showsPayloads: showsPayloads)
        return .push([text("event"), text(place.description), text(kind), .map(entries)])
    }

    /// Appends the message as a server-sent event.
    func append(to bytes: inout [UInt8], showsPayloads: Bool, at now: Int64) {
        var (kind, place, entries) = parts(showsPayloads: showsPayloads)
        if case .begin = self { entries = [entry("time", .integer(Int(now)))] }
        ServerSentEvents.append(kind, id: place.description, .map(entries), to: &bytes)
    }
}
