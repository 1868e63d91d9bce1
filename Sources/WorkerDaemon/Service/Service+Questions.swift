// Questions of clients at the service: each is asked of the driver when there is room for its
// answer.

internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops

extension Service {
    /// How long a client may leave large answers unread while other clients wait for room.
    private static let readingPatience = Duration.seconds(5)
    /// The expected size of a job's description.
    static let descriptionByteCount = 4 << 10
    /// The expected size of a result whose size is unknown: as much as one client may have unread,
    /// so that one at a time is in flight for a client.
    static let resultByteCount = QuestionQueue.Limits().clientByteCountMax
    /// The expected size of an answer about the present state.
    private static let stateByteCount = 64 << 10
    /// The size of a row of a listing on the wire, about.
    static let rowByteCount = 128
    /// The size that the reason of a failure adds to a row, about.
    static let failureByteCount = 256

    /// Asks something for a client when there is room for the answer.
    ///
    /// - Parameters:
    ///   - byteCount: the expected size of the answer.
    ///   - begin: has the answer made. Not called once the client has left.
    func ask(
        _ kind: QuestionQueue.Kind, byteCount: Int, _ session: Session, _ reply: ReplyToken,
        begin: @escaping () -> Void
    ) {
        session.questionCount += 1
        questions.ask(kind, byteCount: byteCount, for: session.number) {
            [unowned self, unowned session] grant in
            session.questionCount -= 1
            openAnswers[reply] = OpenAnswer(grant)
            begin()
            guard kind == .state else { return }
            // Its room at least until the next pass, so that other clients are served in between.
            let confined = Confined(grant, to: loop)
            loop.perform { withExtendedLifetime(confined) {} }
        }
        watchReaders()
    }

    /// Has an answer about the present state made, which may be large and take its time: one in a
    /// pass, when there is room for it.
    ///
    /// - Parameter make: makes it, now or later, and has `endState` called then. Not called once
    ///   the client has left.
    func askForState(
        _ session: Session, _ reply: ReplyToken, make: @escaping () -> Void
    ) {
        ask(.state, byteCount: Self.stateByteCount, session, reply, begin: make)
    }

    /// An answer about the present state is given.
    func endState(_ reply: ReplyToken) { openAnswers[reply] = nil }

    /// Whether clients with unread answers are not to ask for more.
    var hasNoRoom: Bool { questions.isFull }

    /// Asks for a job: at once if it is in memory and the answer takes no more of it, else when
    /// there is room for the answer.
    func lookUp(
        _ id: JobID, byteCount: Int, _ session: Session, _ reply: ReplyToken,
        begin: @escaping (ReplyToken) -> Void
    ) {
        let isInMemory = driver.input { $0.isInMemory(id) } || !driver.store.isKeeping
        let mayCopy = byteCount > Self.descriptionByteCount && copiesResults(session)
        // The result of a job that goes on may be long in coming.
        if isInMemory, !mayCopy || driver.scheduler.book.active(id) != nil { return begin(reply) }
        // In memory, it is made in one go.
        ask(isInMemory ? .state : .lookup, byteCount: byteCount, session, reply) { begin(reply) }
    }

    /// Whether the answer with a result, payload or output is a copy of it.
    ///
    /// The Redis protocol sends the bytes in memory as they are; HTTP makes a text of them.
    func copiesResults(_ session: Session) -> Bool { session.conversation != nil }

    /// Answers a command with the outcome of a job, which the store may have to be asked for.
    ///
    /// - Parameter isNamed: whether a unique name has led to it.
    func wait(for id: JobID, isNamed: Bool = false, _ session: Session, _ reply: ReplyToken) {
        lookUp(id, byteCount: Self.resultByteCount, session, reply) { [unowned self] reply in
            driver.input { $0.wait(for: id, isNamed: isNamed, reply) }
        }
    }

    /// Waits for the end of a job to which a unique name has led: it may be another node's.
    func wait(forNamed id: JobID, _ session: Session, _ reply: ReplyToken) {
        guard let owners, !driver.input({ $0.isInMemory(id) }) else {
            return wait(for: id, isNamed: true, session, reply)
        }
        owners.findThread(of: id) { [unowned self, weak session] result in
            guard let session, session.isOpen else { return }
            guard case .success(let thread?) = result, case .node? = owner(ofThread: thread) else {
                return wait(for: id, isNamed: true, session, reply)
            }
            session.fill(
                reply,
                with: WireError(
                    .err,
                    "job \(id) of the thread \(PoolSlot.shown(thread)) has this name, and another "
                        + "node has that thread: RESULT \(id) WAIT waits for it"
                ).reply)
        }
    }

    func session(_ session: Session, hasUnread byteCount: Int, early earlyByteCount: Int) {
        questions.noteBacklog(byteCount, early: earlyByteCount, of: session.number)
        watchReaders()
    }

    /// Disconnects clients that do not read their answers while other clients wait for that room.
    private func watchReaders() {
        guard readerWatch == nil, questions.isExhausted else { return }
        let service = Confined(self, to: loop)
        let timer = ThreadRunLoop.Timer(at: loop.now.advanced(by: .seconds(1))) { _ in
            service.value.dropSlowReaders()
        }
        readerWatch = timer
        loop.add(timer)
    }

    private func dropSlowReaders() {
        readerWatch = nil
        guard questions.isExhausted else { return }
        let last = loop.now.advanced(by: .zero - Self.readingPatience)
        for session in sessions.values where session.hasUnread && session.lastRead < last {
            session.close(
                "it left \(session.outputByteCount) bytes of answers unread for "
                    + "\(Self.readingPatience), and other clients waited for that room")
        }
        watchReaders()
    }
}
