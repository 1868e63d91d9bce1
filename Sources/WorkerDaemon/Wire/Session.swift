// One client's connection: bytes in, commands out to the service, replies back in the order of the
// commands. Lives on one loop, whichever that is, and knows nothing of jobs.

internal import HTTP
internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops
internal import TLS

/// A connection with a client.
///
/// Confined to its loop's thread.
final class Session {
    let number: UInt64
    let ends: PeerInfo
    let connectedAt: Int64
    var name = ""
    /// The client's library, as CLIENT SETINFO names it.
    var library = (name: "", version: "")
    /// The client's permissions.
    var standing: Standing
    /// Whose rights the client has.
    private(set) var user: User
    /// Whose rights it has before it authenticates; nil if it has to.
    private(set) var doorUser: User?
    /// How many commands of the client's transaction were answered with QUEUED.
    var queuedCount = 0
    var commandCount: UInt64 = 0
    var lastCommand = ""
    var wrongPasswordCount = 0
    /// Why nothing is read and executed; empty if there is no reason.
    var pauses: Pauses = []
    /// The links over which commands are passed on to other nodes; nil before the first one.
    var links: SessionLinks?
    /// Whether it is a link of another node, whose commands are passed on no further.
    var isLink = false
    /// Whether another node has made the connection.
    var isFromNode = false
    /// The answers that are parts of other answers, by the numbers of their slots.
    var innerAnswers: [UInt64: InnerAnswer] = [:]

    /// The requests of a connection that speaks HTTP; nil of one that speaks the Redis protocol.
    let conversation: HTTPConversation?
    let loop: ThreadRunLoop
    let outputRound: OutputRound
    let handshakes: HandshakeRound
    private let limits: SessionLimits
    unowned let delegate: any SessionDelegate
    private(set) var socket: Socket?
    /// Whether the connection has TLS: a plaintext one looks no further.
    let isEncrypted: Bool
    private(set) var port: ThreadRunLoop.Port?
    private(set) var replyVersions = ReplyVersions()
    private var earlyByteCount = 0
    private var firstSlot: UInt64 = 0
    private var nextSlot: UInt64 = 0
    // SAFETY: each command looks at these several times. That accesses don't overlap is not looked
    // for at run time: nothing is called out to while one of them is being changed but the kernel.
    @exclusivity(unchecked) private var uncheckedParser: CommandParser
    @exclusivity(unchecked) private var uncheckedOutput = OutputQueue()
    @exclusivity(unchecked) private var uncheckedEarly: [UInt64: Answer] = [:]
    @exclusivity(unchecked) private var uncheckedLatestPushes = LatestPushes()
    @exclusivity(unchecked) private var uncheckedAnswerNotes: [UInt64: (Answer) -> Void] = [:]
    var hasInputEnded = false
    /// How much of a mark in front of the client's bytes was read; nil if none can come any more.
    var markByteCount: Int?
    private(set) var hasHungUp = false
    var closesWhenSent = false
    /// Whether bytes are only discarded, until the client has read the last answer.
    var isLingering = false
    private var isFlushScheduled = false
    /// The output that goes on until the connection ends.
    var stream: (any SessionStream)?
    private var isExecuting = false
    /// Questions of the client that wait for room for their answers.
    var questionCount = 0
    /// The size of unread answers that the delegate was told last.
    private(set) var toldByteCount = 0
    private var toldEarlyByteCount = 0
    /// When the client has last read something, or had nothing to read.
    private(set) var lastRead = Instant(nanoseconds: 0)
    /// When bytes of the client arrived last.
    private(set) var lastArrival: Instant

    /// Bytes asked for by one read, and taken in one go before others get their turn.
    static let readByteCount = 64 << 10
    /// Fewer unread bytes than this are not told to the delegate.
    private static let toldByteCountMin = 16 << 10
    /// A client with so many questions in line asks no more until one is answered.
    private static let questionCountMax = 16

    init(
        number: UInt64, socket: Socket, ends: PeerInfo, user: User?,
        dialect: Dialect, limits: SessionLimits, loop: ThreadRunLoop, outputRound: OutputRound,
        handshakes: HandshakeRound, delegate: any SessionDelegate
    ) {
        self.number = number
        self.ends = ends
        standing = user == nil ? .stranger : .client
        self.user = user ?? .stranger
        doorUser = user
        self.limits = dialect == .commands ? limits : limits.ofRequests
        self.loop = loop
        self.outputRound = outputRound
        self.handshakes = handshakes
        self.delegate = delegate
        self.socket = socket
        isEncrypted = socket.tls != nil
        connectedAt = WallClock.unixMilliseconds()
        lastArrival = loop.now
        conversation =
            dialect == .requests
            ? HTTPConversation(bodyByteCountMax: limits.bodyByteCountMax, loop: loop) : nil
        unsafe uncheckedParser = CommandParser(
            limits: user == nil ? CommandLimits.unauthenticated : limits.command)
        guard let conversation else { return }
        let session = Confined(self, to: loop)
        conversation.isLate = { session.value.headIsLate() }
    }

    private var parser: CommandParser {
        _read { yield unsafe uncheckedParser }
        _modify { yield unsafe &uncheckedParser }
    }

    var output: OutputQueue {
        _read { yield unsafe uncheckedOutput }
        _modify { yield unsafe &uncheckedOutput }
    }

    /// Pushes for later, once the client has read the bytes in flight to it.
    var latestPushes: LatestPushes {
        _read { yield unsafe uncheckedLatestPushes }
        _modify { yield unsafe &uncheckedLatestPushes }
    }

    /// Answers that came before an earlier one, by the number of their slot.
    private var early: [UInt64: Answer] {
        _read { yield unsafe uncheckedEarly }
        _modify { yield unsafe &uncheckedEarly }
    }

    /// Told the answers of some places, by the numbers of their slots: mostly of none.
    private var answerNotes: [UInt64: (Answer) -> Void] {
        _read { yield unsafe uncheckedAnswerNotes }
        _modify { yield unsafe &uncheckedAnswerNotes }
    }

    /// Tells `body` the answer of the next place that is kept.
    func noteNextAnswer(_ body: @escaping (Answer) -> Void) { answerNotes[nextSlot] = body }

    /// Begins to read.
    ///
    /// - Throws: when the kernel can't watch one more descriptor.
    func start() throws(SystemError) {
        guard let socket else { return }
        let session = Confined(self, to: loop)
        let port = ThreadRunLoop.Port(watching: socket.descriptor.number) { _, readiness in
            session.value.handle(readiness)
        }
        self.port = port
        try loop.add(port)
        if isShakingHands { handshakes.begin(self) } else { conversation?.awaitHead() }
    }

    /// How many answers are outstanding.
    var pendingReplyCount: Int { Int(nextSlot - firstSlot) }

    /// How many bytes wait for the client to read them, or for an earlier answer.
    var outputByteCount: Int { output.byteCount + earlyByteCount }

    /// How many bytes of an incomplete command have arrived, and what the buffer for them takes.
    var input: (byteCount: Int, memoryByteCount: Int) {
        if let conversation {
            return (conversation.parser.pendingByteCount, conversation.parser.memoryByteCount)
        }
        return (parser.pendingByteCount, parser.memoryByteCount)
    }

    /// Gives the client the rights that its user has now.
    func renew(_ user: User, atDoor doorUser: User?) {
        self.user = user
        self.doorUser = doorUser
    }

    /// Lets the client do what a user may, after it has given its password.
    func authenticate(as user: User) {
        standing = .client
        self.user = user
        parser.limits = limits.command
    }

    /// Speaks another version of the protocol from the next command's reply on.
    func setVersion(_ version: ProtocolVersion) {
        replyVersions.change(to: version, from: nextSlot, first: firstSlot)
        links?.follow()
    }

    /// Tells the client nothing more that it does not ask for.
    func endPushes() {
        latestPushes.removeAll()
        stream = nil
    }

    /// Forgets what the client has set, and that it has given the password.
    func reset() {
        setVersion(.two)
        name = ""
        library = ("", "")
        _ = endTransaction()
        user = doorUser ?? .stranger
        guard doorUser == nil else { return }
        standing = .stranger
        parser.limits = CommandLimits.unauthenticated
    }

    /// Whether a reserved place is the next to be answered, and all before it is written.
    func isNext(_ slot: ReplyToken) -> Bool {
        outerNumber(of: slot) == firstSlot && output.isEmpty
    }

    /// Whether a reserved place is the next to be answered, or was answered before.
    func isDue(_ slot: ReplyToken) -> Bool { outerNumber(of: slot) <= firstSlot }

    /// Whether a reserved place was answered.
    func isAnswered(_ slot: ReplyToken) -> Bool { slot.number < firstSlot }

    /// Keeps a place among the answers; later ones wait behind it.
    ///
    /// - Parameter patience: how long the client waits for the outcome of the job that it is about.
    func reserve(
        _ patience: ReplyToken.Patience? = nil, tellsWhetherNew: Bool = false
    ) -> ReplyToken {
        // A part of an answer is no response of its own.
        if nextSlot < Self.innerSlotMin { conversation?.reserve(nextSlot) }
        nextSlot += 1
        return ReplyToken(
            client: number, number: nextSlot - 1, patience: patience,
            tellsWhetherNew: tellsWhetherNew)
    }

    /// Gives the answer of a reserved place.
    func fill(_ slot: ReplyToken, _ answer: Answer) {
        guard socket != nil else { return }
        defer { noteOutput() }
        if !answerNotes.isEmpty { answerNotes.removeValue(forKey: slot.number)?(answer) }
        // Before this one is added: one large reply may go over; a client that reads gets it.
        if outputByteCount > limits.outputByteCountMax {
            return close("\(outputByteCount) bytes wait to be sent (limits.outputBacklog)")
        }
        guard slot.number == firstSlot else {
            if fillInner(slot, answer) { return }
            require(slot.number > firstSlot, "a command is answered once")
            early[slot.number] = answer
            earlyByteCount += answer.memoryByteCount
            return
        }
        write(answer)
        while !early.isEmpty, let next = early.removeValue(forKey: firstSlot) {
            earlyByteCount -= next.memoryByteCount
            write(next)
        }
        scheduleFlush()
    }

    /// Executes something whose answer is a part of another answer.
    ///
    /// - Parameter number: of the slot that it reserves.
    func withSlot(numbered number: UInt64, _ body: () -> Void) {
        let next = nextSlot
        nextSlot = number
        body()
        nextSlot = next
    }

    /// Whether links bring more answers.
    ///
    /// While an earlier answer is missing, later ones wait in memory: the missing one has to come
    /// in, with all that its link brings before it.
    ///
    /// - Parameter isAwaited: whether a link owes the answer that is the next one.
    func takesAnswers(isAwaited: @autoclosure () -> Bool) -> Bool {
        guard output.byteCount < limits.outputByteCountSoftMax else { return false }
        return outputByteCount < limits.outputByteCountSoftMax || isAwaited()
    }

    /// Goes on with a client that was throttled.
    func goOn() {
        flush()
        updateInterest()
    }

    /// Ends the session at once.
    func close(_ reason: String) {
        guard socket != nil else { return }
        port?.invalidate()
        port = nil
        if isEncrypted { endTLS() }
        socket = nil
        conversation?.close()
        stream = nil
        links?.close()
        innerAnswers.removeAll()
        early.removeAll()
        answerNotes.removeAll()
        earlyByteCount = 0
        output = OutputQueue()
        noteOutput()
        delegate.sessionEnded(self, reason: reason)
    }

    func handle(_ readiness: Readiness) {
        guard skipMark() else { return }
        if isShakingHands { return handshakes.add(self) }
        if readiness.contains(.closed) { return hungUp() }
        let readiness = isEncrypted ? socket?.meaning(of: readiness) ?? [] : readiness
        if readiness.contains(.writable) { flush() }
        if readiness.contains(.readable) && (isLingering || !isThrottled) { read() }
        updateInterest()
    }

    /// The client is gone; commands that it sent before count, unless it had to read for them.
    private func hungUp() {
        hasHungUp = true
        while !isThrottled, receive() {}
        close("the client hung up")
    }

    private func read() {
        if isLingering { return discard() }
        _ = receive()
        if mayHaveToSend { flush() }
    }

    /// Reads once and executes the complete commands.
    ///
    /// - Returns: whether there may be more.
    func receive() -> Bool {
        guard let socket, !isShakingHands, !hasInputEnded else { return false }
        var result = ReadResult.wouldBlock
        do throws(TLSError) {
            if let conversation {
                result = try conversation.read(
                    from: socket, atLeast: Self.readByteCount, &outputRound.spareInput)
            } else {
                parser.takeMemory(&outputRound.spareInput)
                try parser.withUninitializedTail(atLeast: Self.readByteCount) {
                    (room: inout OutputSpan<UInt8>) throws(TLSError) in
                    result = try socket.read(into: &room)
                }
            }
        } catch {
            close("reading failed: \(error)")
            return false
        }
        switch result {
        case .bytes:
            lastArrival = loop.now
            executeCommands()
            return true
        case .end: inputEnded()
        case .wouldBlock: giveMemory()
        }
        return false
    }

    /// Leaves the memory for input to the session that reads next.
    private func giveMemory() {
        guard let conversation else { return parser.giveMemory(&outputRound.spareInput) }
        conversation.parser.giveMemory(&outputRound.spareInput)
    }

    /// Executes the commands that have arrived, until one is incomplete or the client must read.
    private func executeCommands() {
        // A command may answer at once, and answering may free the way for more: not from inside.
        guard !isExecuting else { return }
        isExecuting = true
        defer { isExecuting = false }
        defer { giveMemory() }
        if let conversation { return executeRequests(conversation) }
        // Looked up once for all commands that have arrived.
        let delegate = delegate
        while socket != nil, !isThrottled, !hasInputEnded, !closesWhenSent {
            do throws(ProtocolError) {
                guard let request = try parser.next() else { return }
                execute(request, delegate)
            } catch {
                if error == .tlsHandshake { delegate.handshakeRefused(self) }
                reply(.error("ERR \(error)"))
                return closeWhenAnswered()
            }
        }
    }

    private func execute(_ request: Request, _ delegate: any SessionDelegate) {
        commandCount += 1
        switch request {
        case .command(let command): delegate.execute(command, for: self)
        case .tooLarge(let argument):
            reply(
                WireError(
                    .err,
                    "argument \(argument.index) has \(argument.byteCount) bytes, the limit is "
                        + "\(argument.limit) (limits.payload in the configuration)"
                ).reply)
        }
    }

    /// Whether the client has to read, or to be answered, before more of it is executed.
    var isThrottled: Bool {
        !pauses.isEmpty || pendingReplyCount >= limits.pendingReplyCountMax
            || outputByteCount >= limits.outputByteCountSoftMax
            || questionCount >= Self.questionCountMax
            || (hasUnread || outputRound.throttlesClients) && isThrottledByOthers
    }

    private func inputEnded() {
        hasInputEnded = true
        // A link ends with its client; over TCP, its end looks like half of one.
        if isLink { return close("its client has left") }
        // Half closed: what is outstanding is still sent. A client that is gone altogether shows
        // itself as a hang-up, or by an error when something is sent to it.
        if pendingReplyCount == 0 { closeWhenSent() }
    }

    /// Tells the delegate how much is unread.
    private func noteOutput() {
        let unread = output.byteCount >= Self.toldByteCountMin ? output.byteCount : 0
        let early = earlyByteCount >= Self.toldByteCountMin ? earlyByteCount : 0
        guard unread != toldByteCount || early != toldEarlyByteCount else { return }
        if unread < toldByteCount || toldByteCount == 0 { lastRead = loop.now }
        toldByteCount = unread
        toldEarlyByteCount = early
        delegate.session(self, hasUnread: unread == 0 ? 0 : output.memoryByteCount, early: early)
    }

    private func write(_ answer: Answer) {
        defer { firstSlot += 1 }
        replyVersions.begin(firstSlot)
        if let conversation {
            let isLast = hasInputEnded && pendingReplyCount == 1
            let response = conversation.exchange(of: firstSlot).response(answer, isLast: isLast)
            output.tail += response.head
            return output.append(response.body)
        }
        switch answer {
        case .value(let value): write(value, by: replyVersions.writer)
        case .encoded(let bytes): output.append(bytes)
        case .rows(let bytes, let count, _):
            replyVersions.writer.writeArrayHeader(count: count, to: &output.tail)
            output.append(bytes)
        }
    }

    /// Sends the answers of this pass at its end, all together.
    func scheduleFlush() {
        guard !isFlushScheduled, !isExecuting else { return }
        isFlushScheduled = true
        outputRound.add(self)
    }

    /// Sends the answers when the round has come to this session.
    func flushInTurn() {
        isFlushScheduled = false
        goOn()
    }

    private func flush() {
        guard let socket else { return }
        defer { noteOutput() }
        do throws(TLSError) {
            var isAllSent = try output.send(to: socket)
            while isAllSent, writeMore() { isAllSent = try output.send(to: socket) }
            if hasInputEnded && pendingReplyCount == 0 { closesWhenSent = true }
            if isAllSent && closesWhenSent {
                return conversation?.isRefusing == true ? linger() : close("done")
            }
            if isAllSent && pendingReplyCount > 0 { delegate.sessionWroteAll(self) }
        } catch {
            return close("sending failed: \(error)")
        }
        // There is room for answers again: bytes that were read before are parsed now. First it is
        // noted that the client has read, or it would be throttled still.
        noteOutput()
        if conversation?.parser.isInsideRequest ?? parser.isInsideCommand { executeCommands() }
    }

    func updateInterest() {
        links?.sessionMoved()
        guard let port, !isShakingHands else { return }
        var interest: Readiness = []
        if isLingering || !hasInputEnded && !isThrottled && !closesWhenSent {
            interest.insert(.readable)
        }
        if !output.isEmpty { interest.insert(.writable) }
        if isEncrypted { interest = need(for: interest) }
        port.interest = interest
    }
}
