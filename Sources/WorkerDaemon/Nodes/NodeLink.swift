// A connection to another node, over which the commands of one client are passed on. The other node
// sees the client through it: its limits, its watches and the jobs that it has taken.
//
//     opening ──▶ open: commands out, answers and pushes in ──▶ closed
//        └── fault: nothing of the client was sent, so it may be tried again
//
// A command is sent once. If the link breaks while an answer is owed, it is not known whether the
// command was executed, and the client's connection is closed.

internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops
internal import Structures
internal import TLS

/// The answer to a command that a link has sent.
enum OwedAnswer {
    /// The client gets the answer unchanged.
    ///
    /// - Parameter mayWait: whether it may be long in coming.
    case answer(ReplyToken, mayWait: Bool)
    /// The rest of a wait for a job whose thread has moved.
    case wait(ReplyToken, take: (RESPValue) -> Void)
    /// The answer is a part of the client's one.
    ///
    /// - Parameter isTimed: whether the client does without it after a while.
    case part(ReplyToken, isTimed: Bool, take: (RESPValue) -> Void)
    /// The link itself has asked.
    case own

    /// The answer of the client that needs it.
    var slot: ReplyToken? {
        switch self {
        case .answer(let slot, _), .wait(let slot, _), .part(let slot, _, _): slot
        case .own: nil
        }
    }

    fileprivate var mayWait: Bool {
        switch self {
        case .answer(_, let mayWait): mayWait
        case .wait: true
        case .part, .own: false
        }
    }
}

/// A connection of a client's session to another node.
///
/// Confined to its session's loop.
final class NodeLink: SocketReader {
    private enum State { case opening, open, leaving, closed }

    /// How long a node may take for its part of an answer.
    static let partPatience = Duration.seconds(2)
    /// How long the commands of a client that has left may be on their way.
    private static let farewell = Duration.seconds(2)
    private static let readByteCount = 64 << 10
    /// The unsent bytes from which on the client is not read.
    private static let unsentByteCountMax = 256 << 10

    let node: StoreNode
    private weak var links: SessionLinks?
    private let loop: ThreadRunLoop
    private var state = State.opening
    private var opening: LinkOpening?
    private(set) var socket: Session.Socket?
    private var port: ThreadRunLoop.Port?
    private var output = OutputQueue()
    private var replies: ReplyFramer
    private var owed = FIFO<OwedAnswer>()
    /// The protocol and the user that the other node was told last.
    private var version = ProtocolVersion.two
    private var userName: String
    /// The number of the connection at the other node.
    private var number = 0
    /// Whether the client watches jobs at the other node.
    var hasWatches = false
    /// Whether the client has taken jobs there.
    var hasJobs = false
    /// Whether the end of the link ends watches of the client, or leaves jobs that it has taken.
    private var isStateful: Bool { hasWatches || hasJobs }
    /// Whether a part of an answer is overdue: no other one is asked for.
    private(set) var isLate = false
    private var isFlushScheduled = false
    private var limit: ThreadRunLoop.Timeout?

    init(
        to node: StoreNode, of links: SessionLinks, resultByteCountMax: Int, on loop: ThreadRunLoop
    ) {
        self.node = node
        self.links = links
        self.loop = loop
        userName = links.session.user.name
        replies = ReplyFramer(
            limits: ReplyLimits(
                bulkByteCountMax: resultByteCountMax, replyByteCountMax: 2 * resultByteCountMax))
    }

    /// Whether commands can be sent.
    var isOpen: Bool { state == .open }

    /// Whether the client has to wait until the other node has read more.
    var isFull: Bool { output.byteCount > Self.unsentByteCountMax }

    /// Whether an answer is outstanding.
    var owesAnswers: Bool { !owed.isEmpty }

    /// Whether it owes an answer that may be long in coming, and that the client gets after another
    /// one.
    func waits(after slot: ReplyToken) -> Bool {
        owed.contains { $0.mayWait && $0.slot.map { slot.number < $0.number } == true }
    }

    // MARK: - Opening

    /// Begins to connect.
    func open(_ target: LinkTarget, _ handshakes: HandshakeRound) {
        let opening = LinkOpening(to: node, at: target, as: userName, on: loop, handshakes)
        self.opening = opening
        opening.begin { [weak self] in self?.opened($0) }
    }

    private func opened(_ result: Result<LinkOpening.Accepted, LinkFault>) {
        opening = nil
        do {
            let accepted = try result.get()
            (socket, number) = (accepted.socket, accepted.number)
            let link = Confined(self, to: loop)
            let port = ThreadRunLoop.Port(
                watching: accepted.socket.descriptor.number, for: .readable
            ) { _, readiness in link.value.handle(readiness) }
            self.port = port
            try loop.add(port)
        } catch {
            let (links, fault) = (links, error as? LinkFault ?? LinkFault(reason: "\(error)"))
            close()
            links?.linkFailed(self, fault)
            return
        }
        state = .open
        links?.linkOpened(self)
        updateInterest()
    }

    func handle(_ readiness: Readiness) {
        guard let socket else { return }
        let possible = socket.meaning(of: readiness)
        if possible.contains(.writable) { flush() }
        if possible.contains(.readable) || readiness.contains(.closed) { read() }
        updateInterest()
    }

    // MARK: - Commands

    /// Sends a command of the client, or one for it.
    func send(_ command: Command, for answer: OwedAnswer) {
        follow()
        write(command, for: answer)
    }

    /// Sends a command for the user that the client had before.
    func send(_ command: Command, as user: String, for answer: OwedAnswer) {
        guard state == .open else { return }
        tell(user)
        write(command, for: answer)
        follow()
    }

    private func write(_ command: Command, for answer: OwedAnswer) {
        CommandWriter.writeHeader(argumentCount: command.count, to: &output.tail)
        for index in 0..<command.count {
            let byteCount = command.byteCount(at: index)
            CommandWriter.writeArgumentHeader(byteCount: byteCount, to: &output.tail)
            if byteCount < OutputQueue.wholeByteCountMin {
                output.tail += command[index]
            } else {
                output.appendWhole(command.bytes(at: index))
            }
            CommandWriter.writeArgumentTrailer(to: &output.tail)
        }
        owe(answer)
    }

    /// Ends the TAKE that waits.
    func unblock(for slot: ReplyToken) {
        let words = ["CLIENT", "UNBLOCK", "\(number)"].map { Array($0.utf8) }
        send(Command(words), for: .part(slot, isTimed: false) { _ in })
    }

    /// Tells the other node the client's user and protocol, if they have changed.
    func follow() {
        guard state == .open, let session = links?.session else { return }
        tell(session.user.name)
        guard version != session.version else { return }
        version = session.version
        if version == .two { hasWatches = false }
        CommandWriter.write(["HELLO", .integer(version.rawValue)], to: &output.tail)
        owe(.own)
    }

    private func tell(_ user: String) {
        guard userName != user else { return }
        userName = user
        output.tail += LinkOpening.greeting(to: node, as: user)
        owe(.own)
    }

    private func owe(_ answer: OwedAnswer) {
        owed.append(answer)
        if owed.count == 1 { awaitFirst() }
        scheduleFlush()
    }

    private func scheduleFlush() {
        guard !isFlushScheduled else { return }
        isFlushScheduled = true
        let link = Confined(self, to: loop)
        loop.perform {
            link.value.isFlushScheduled = false
            link.value.flush()
            link.value.updateInterest()
        }
    }

    private func flush() {
        guard let socket else { return }
        do throws(TLSError) {
            let isAllSent = try output.send(to: socket)
            // Closed with answers unread, it would take commands with it that are on their way.
            if isAllSent, state == .leaving { try? socket.shutdownWriting() }
        } catch {
            return fail("\(error)")
        }
        links?.linkMoved()
    }

    // MARK: - Answers

    private func read() {
        guard let socket else { return }
        var result = ReadResult.wouldBlock
        do throws(TLSError) {
            links?.lendMemory(to: &replies)
            try replies.withUninitializedTail(atLeast: Self.readByteCount) {
                (room: inout OutputSpan<UInt8>) throws(TLSError) in
                result = try socket.read(into: &room)
            }
        } catch {
            return fail("\(error)")
        }
        if case .bytes = result { takeReplies() }
        links?.takeMemory(of: &replies)
        if result == .end { fail("it has closed the connection") }
    }

    private func takeReplies() {
        do throws(ProtocolError) {
            while state != .closed, let reply = try replies.next() {
                if state == .leaving { continue }
                if reply.first == UInt8(ascii: ">") { links?.push(reply) } else { take(reply) }
            }
        } catch {
            fail("\(error)")
        }
    }

    private func take(_ reply: [UInt8]) {
        guard let first = owed.popFirst() else {
            // The other node may have refused the connection.
            return fail(RESPValue(reply: reply)?.refusal ?? "it has said more than it was asked")
        }
        isLate = false
        endLimit()
        switch first {
        case .answer(let slot, _): links?.session.fill(slot, encoded: reply)
        case .wait(_, let take), .part(_, _, let take): take(RESPValue(reply: reply) ?? .null)
        case .own: takeOwn(RESPValue(reply: reply) ?? .null)
        }
        awaitFirst()
        if owed.isEmpty { links?.linkIsQuiet() }
        // A client that has read all has to be told that there is more.
        links?.linkMoved()
    }

    private func takeOwn(_ reply: RESPValue) {
        if reply.refusal != nil { return refuse(reply) }
        if let number = reply.integer { self.number = number }
    }

    /// The other node does not serve the client's user, and has executed nothing behind LINK.
    private func refuse(_ reply: RESPValue) {
        let (left, links, isMissed) = (owed, links, isStateful)
        owed.removeAll()
        close()
        links?.linkEnded(self)
        for owed in left {
            switch owed {
            case .answer(let slot, _): links?.session.fill(slot, with: reply)
            case .wait(_, let take), .part(_, _, let take): take(reply)
            case .own: break
            }
        }
        if isMissed {
            links?.breakOff("node \(node.name) serves its user no more, with watches or jobs there")
        }
    }

    /// A part of an answer that is the next one has to come in time.
    private func awaitFirst() {
        guard case .part(_, true, _)? = owed.first, !isLate else { return }
        endAt(Self.partPatience) { $0.firstIsLate() }
    }

    private func firstIsLate() {
        isLate = true
        for owed in owed {
            guard case .part(_, true, let take) = owed else { break }
            take(lateness)
        }
    }

    /// The answer in place of one that is overdue.
    var lateness: RESPValue {
        WireError(
            .busy,
            "node \(node.name) did not answer within \(Self.partPatience); NODES lists all nodes"
        ).reply
    }

    // MARK: - The end

    /// The link is of no use any more.
    func fail(_ reason: String) {
        guard state != .closed else { return }
        let wasOpening = state == .opening
        let isMissed = !wasOpening && (isStateful || owesAnswers)
        let links = links
        close()
        guard let links else { return }
        if wasOpening { return links.linkFailed(self, LinkFault(reason: reason)) }
        links.linkEnded(self)
        if isMissed { links.breakOff("the link to node \(node.name) broke: \(reason)") }
    }

    /// The client has left; its last commands still count if they are on their way.
    func leave() {
        links = nil
        guard state == .open, !output.isEmpty else { return close() }
        owed.removeAll()
        state = .leaving
        endAt(Self.farewell) { $0.close() }
        flush()
        updateInterest()
    }

    func close() {
        guard state != .closed else { return }
        state = .closed
        endLimit()
        opening?.close()
        opening = nil
        port?.invalidate()
        port = nil
        socket = nil
        output = OutputQueue()
        owed.removeAll()
    }

    // MARK: - Interest and limits

    /// Reads answers while the client takes them, and sends while there is something to send.
    func updateInterest() {
        guard let port, let socket else { return }
        var interest: Readiness = []
        if mayRead {
            interest.insert(.readable)
            readHeldInput(on: loop)
        }
        if !output.isEmpty { interest.insert(.writable) }
        port.interest = socket.need(for: interest)
    }

    private var mayRead: Bool {
        guard state == .open, let session = links?.session else { return true }
        return session.takesAnswers(isAwaited: owed.contains { $0.slot.map(session.isDue) == true })
    }

    private func endAt(_ pause: Duration, _ end: @escaping (NodeLink) -> Void) {
        endLimit()
        let link = Confined((self, end), to: loop)
        limit = loop.schedule(after: pause) {
            let (link, end) = link.value
            link.limit = nil
            end(link)
        }
    }

    private func endLimit() {
        if let limit { loop.cancel(limit) }
        limit = nil
    }
}

extension RESPValue {
    /// The text of an error; nil if it is none.
    fileprivate var refusal: String? { if case .error(let text) = self { text } else { nil } }
}
