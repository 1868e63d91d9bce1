// The live view of the page: the state of all threads, looked at once a second at most, and only
// while something happens and a reader is there. Each reader gets what has changed since it was
// told last, so nothing is queued for a slow one.

internal import Jobs
internal import RESP
internal import RunLoops

/// The present rows of the live view.
///
/// Confined to its loop's thread.
final class LiveBoard {
    /// The shortest time between two looks.
    static let pause = Duration.seconds(1)

    /// The findings of one look.
    struct Look {
        var server = LiveRow(entries: [])
        var counts = LiveRow(entries: [])
        var pools: [(row: LiveRow, line: Timeline?)] = []
        var threads: [(row: LiveRow, line: Timeline?)] = []
        var selectors: [LiveRow] = []
        /// The parts of the counts.
        var parts: [(subject: LiveSubject, counts: LiveCounts)] = []
        /// Whether something changes without a report: then another look follows.
        var isChanging = false
    }

    /// Names this run of the daemon.
    let epoch: String
    private let loop: ThreadRunLoop
    /// The time lines of the threads; nil unless HTTP is served.
    private let timelines: () -> Timelines?
    private let look: () -> Look
    /// Told whether the board is to hear of changes.
    private let follow: (Bool) -> Void
    private var server = LiveTable()
    private var counts = LiveTable()
    private var pools = LiveTable()
    private var threads = LiveTable()
    private var selectors = LiveTable()
    private var parts: [(subject: LiveSubject, counts: LiveCounts)] = []
    /// The last round in which something has changed.
    private(set) var round: UInt32 = 0
    /// The round behind which the rows are of other threads than before.
    private(set) var lastVoidRound: UInt32 = 0
    private var readers: [UInt64: () -> Void] = [:]
    /// The readers that something new is there for.
    private var due: [UInt64] = []
    private var isWaking = false
    private var lastLook: Instant?
    private var timeout: ThreadRunLoop.Timeout?
    private var isLooking = false
    /// How many looks there were.
    private(set) var lookCount = 0

    /// - Parameters:
    ///   - look: describes the present state of all threads.
    ///   - follow: told whether the board is to hear of changes.
    init(
        epoch: String, loop: ThreadRunLoop, timelines: @escaping () -> Timelines?,
        look: @escaping () -> Look,
        follow: @escaping (Bool) -> Void
    ) {
        self.epoch = epoch
        self.loop = loop
        self.timelines = timelines
        self.look = look
        self.follow = follow
    }

    /// Begins to serve a session.
    ///
    /// - Parameter whenMore: called when there is something for it, in its turn.
    func add(_ session: UInt64, whenMore: @escaping () -> Void) {
        let isFirst = readers.isEmpty
        if isFirst { follow(true) }
        readers[session] = whenMore
        // A later one begins with the rows of the last look.
        if isFirst { lookNow() } else { touched() }
        wake([session])
    }

    /// Has readers come for more, one or two in a pass: what each gets may be large.
    private func wake(_ sessions: some Sequence<UInt64>) {
        let before = Set(due)
        due += sessions.filter { !before.contains($0) }
        if !isWaking { wakeNext() }
    }

    private func wakeNext() {
        isWaking = !due.isEmpty
        guard isWaking else { return }
        readers[due.removeFirst()]?()
        let board = Confined(self, to: loop)
        loop.perform { board.value.wakeNext() }
    }

    func remove(_ session: UInt64) {
        guard readers.removeValue(forKey: session) != nil, readers.isEmpty else { return }
        follow(false)
        if let timeout { loop.cancel(timeout) }
        timeout = nil
    }

    func close() {
        if let timeout { loop.cancel(timeout) }
        timeout = nil
        readers = [:]
        due = []
    }

    /// Other threads or selectors are served: each reader begins anew.
    func restart() {
        (pools, threads, selectors) = (LiveTable(), LiveTable(), LiveTable())
        (server, counts) = (LiveTable(), LiveTable())
        lastVoidRound = round
        // They may be new ones.
        timelines()?.round = round + 1
        if !readers.isEmpty { lookNow() }
    }

    /// Something may have changed: it is looked at now, or a second after the last look.
    func touched() {
        guard timeout == nil, !isLooking, !readers.isEmpty else { return }
        let board = Confined(self, to: loop)
        let due = lastLook.map { max($0.advanced(by: Self.pause), loop.now) } ?? loop.now
        timeout = loop.schedule(at: due) {
            board.value.timeout = nil
            board.value.lookNow()
        }
    }

    private func lookNow() {
        isLooking = true
        let found = look()
        isLooking = false
        lookCount += 1
        lastLook = loop.now
        parts = found.parts
        let next = round + 1
        var hasChanged = server.update([(found.server, nil)], round: next)
        // Each of them, whatever the others say.
        hasChanged = counts.update([(found.counts, nil)], round: next) || hasChanged
        hasChanged = pools.update(found.pools, round: next) || hasChanged
        hasChanged = threads.update(found.threads, round: next) || hasChanged
        hasChanged = selectors.update(found.selectors.map { ($0, nil) }, round: next) || hasChanged
        if hasChanged {
            round = next
            timelines()?.round = next + 1
            wake(readers.keys)
        }
        if found.isChanging { touched() }
    }

    /// The entries of a message with all that has changed behind a round; all behind round 0.
    ///
    /// - Parameter counts: the numbers of a user that may not touch all, as it was told them last.
    func changes(
        behind round: UInt32, at now: Int64, for user: User, _ counts: inout LiveCounts?
    ) -> [RESPValue.Entry] {
        func rows(_ table: LiveTable) -> [RESPValue] {
            table.rows(behind: round, at: now, for: user)
        }
        var entries: [RESPValue.Entry] = []
        if let row = rows(server).first { entries.append(entry("server", row)) }
        if user.touchesAll {
            if let row = rows(self.counts).first { entries.append(entry("counts", row)) }
        } else {
            let own = parts.filter { $0.subject.isSeen(by: user) }
                .reduce(into: LiveCounts()) { $0 += $1.counts }
            if round == 0 || own != counts {
                entries.append(entry("counts", .map(own.entriesWithAttempts)))
            }
            counts = own
        }
        for (name, table) in [("pools", pools), ("threads", threads), ("selectors", selectors)] {
            // A selector changes by attempts on all threads.
            if name == "selectors", round > 0, !user.scope.hasAllThreads { continue }
            let changed = rows(table)
            if round == 0 || !changed.isEmpty { entries.append(entry(name, .array(changed))) }
        }
        return entries.isEmpty ? [] : [entry("time", .integer(Int(now)))] + entries
    }
}

/// The live view as one reader gets it: messages of HTTP, or pushes.
///
/// Confined to its board's thread.
final class LiveMessages: MessageSource {
    private let board: LiveBoard
    private let user: User
    private let wall: () -> Int64
    /// The reader has all of this round; 0 for nothing.
    private var round: UInt32 = 0
    /// The numbers that the reader was told last, if they are not those of all threads.
    private var counts: LiveCounts?
    /// How many messages there were: how often others change something is not told.
    private var messageCount = 0
    /// Whether its turn has come.
    var isDue = false

    /// - Parameter wall: the present time in Unix milliseconds.
    init(_ board: LiveBoard, for user: User, wall: @escaping () -> Int64) {
        self.board = board
        self.user = user
        self.wall = wall
    }

    func append(to bytes: inout [UInt8], atMost byteCountMax: Int) {
        guard let (kind, entries) = next() else { return }
        messageCount += 1
        ServerSentEvents.append(
            kind, id: "\(board.epoch)-\(messageCount)", .map(entries), to: &bytes)
    }

    /// The next message; nil if nothing has changed that the reader may see.
    func next() -> (kind: String, entries: [RESPValue.Entry])? {
        guard isDue, round < board.round else { return nil }
        isDue = false
        if round <= board.lastVoidRound { round = 0 }
        let isFirst = round == 0
        var entries = board.changes(behind: round, at: wall(), for: user, &counts)
        if isFirst { entries.append(entry("timeline", Self.timeline)) }
        round = board.round
        return entries.isEmpty ? nil : (isFirst ? "snapshot" : "change", entries)
    }

    private static let timeline = RESPValue.map([
        entry("bucket", .integer(Int(Timeline.bucketMilliseconds))),
        entry("count", .integer(Timeline.bucketCount)),
        entry("outcomes", .array(Timeline.outcomes.map { text($0.rawValue) })),
    ])
}

/// The live view of a reader as pushes.
///
/// Confined to its session's loop.
final class LivePushes: SessionStream {
    let slot: ReplyToken
    let isAnswer = false
    private let messages: LiveMessages

    init(_ slot: ReplyToken, _ messages: LiveMessages) {
        self.slot = slot
        self.messages = messages
    }

    func write(to session: Session) {
        guard session.hasRoomForStream, let (kind, entries) = messages.next() else { return }
        session.write(push: .push([text("live"), text(kind), .map(entries)]))
    }
}
