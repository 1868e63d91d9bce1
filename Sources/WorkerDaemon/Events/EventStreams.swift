// Streams of events over both protocols: pushes of RESP 3, and server-sent events.

internal import HTTP
internal import Jobs
internal import Kernel
internal import RESP
internal import Wording

/// The events of a reader as pushes.
///
/// Confined to its session's loop.
final class EventPushes: SessionStream {
    let slot: ReplyToken
    let isAnswer = false
    private let reader: EventReader

    init(_ slot: ReplyToken, _ reader: EventReader) {
        self.slot = slot
        self.reader = reader
    }

    func write(to session: Session) {
        while session.hasRoomForStream, let message = reader.next() {
            session.write(push: message.push(showsPayloads: session.maySeePayloads))
        }
    }
}

/// The events of a reader as messages of HTTP.
///
/// Confined to its session's loop.
final class EventMessages: MessageSource {
    private let reader: EventReader
    private let showsPayloads: Bool
    private let wall: WallTime
    private var hasBegun = false

    init(_ reader: EventReader, showsPayloads: Bool, wall: WallTime) {
        self.reader = reader
        self.showsPayloads = showsPayloads
        self.wall = wall
    }

    func append(to bytes: inout [UInt8], atMost byteCountMax: Int) {
        if !hasBegun {
            hasBegun = true
            append(.begin(reader.place), to: &bytes)
        }
        while bytes.count < byteCountMax, let message = reader.next() {
            append(message, to: &bytes)
        }
    }

    private func append(_ message: EventMessage, to bytes: inout [UInt8]) {
        message.append(
            to: &bytes, showsPayloads: showsPayloads, at: wall.unixMilliseconds())
    }
}

extension Service {
    /// A new reader for a session.
    ///
    /// - Parameter threads: the names of the threads and pools that it wants; none for all.
    private func reader(
        of session: Session, _ threads: [String], whenMore: @escaping () -> Void
    ) throws -> (EventJournal, EventReader) {
        guard configuration.limits.events > 0, let journal = driver.events else {
            throw WireError(.err, "no events are kept (limits.events in the configuration is 0)")
        }
        let addressed = try threads.map { name in
            try session.user.check(thread: name)
            return (name, try driver.group(of: name))
        }
        let filter = EventFilter(addressed, for: session.user)
        try streams.check(session)
        return (journal, EventReader(filter, whenMore: whenMore))
    }

    /// Has a session of RESP pushed all events; answers with the place behind which they begin.
    func pushEvents(
        to session: Session, behind place: EventPlace?, of threads: [String]
    ) throws {
        let number = session.number
        let (journal, reader) = try reader(of: session, threads) {
            [unowned self, weak session] in
            // The client may have gone back to version 2 of the protocol.
            guard let session, session.stream != nil else { return endStream(of: number) }
            session.scheduleFlush()
        }
        if driver.live != nil { live.remove(number) }
        let slot = session.reserve()
        session.begin(EventPushes(slot, reader))
        journal.add(reader, of: session.number, behind: place)
        streams.add(session, nil)
        session.fill(slot, with: text(reader.place.description))
    }

    /// The source of a stream of events.
    func events(_ request: WebRequest, _ session: Session) throws -> any MessageSource {
        let threads = request.head.target.query.filter { $0.name == "thread" }.map(\.value)
        try request.checkQuery(["thread", "since"], repeatable: ["thread"])
        let asked = request.head.text(of: "last-event-id") ?? request.query("since")
        let place = try asked.map { try Self.place($0) }
        let (journal, reader) = try reader(of: session, threads) { [weak session] in
            session?.scheduleFlush()
        }
        let messages = EventMessages(
            reader, showsPayloads: session.maySeePayloads, wall: driver.wall)
        journal.add(reader, of: session.number, behind: place)
        return messages
    }

    /// The place that a client names.
    static func place(_ text: String) throws(WireError) -> EventPlace {
        guard let place = EventPlace(text: text) else {
            throw WireError(
                .err,
                "an event's place is EPOCH-NUMBER, as the events say it, not "
                    + "\(quoted(text))")
        }
        return place
    }

    /// A session's stream has ended, or its connection.
    func endStream(of session: UInt64) {
        streams.remove(session)
        driver.events?.remove(session)
        if driver.live != nil { live.remove(session) }
    }
}
