// The way of an answer: from the driver to the client that has asked, or to the schedule.

internal import Jobs
internal import RESP

extension Service: JobDoor {
    /// An answer that is being made.
    struct OpenAnswer {
        /// The room that is kept for it.
        private let grant: QuestionQueue.Grant
        /// The rows of a listing, which are written as they come.
        fileprivate var rowCount = 0
        fileprivate var rows: [UInt8] = []
        fileprivate var last: JobID?
        /// The use of the rows, in place of showing them.
        var digest: (any ListingDigest)?

        init(_ grant: QuestionQueue.Grant) { self.grant = grant }
    }

    func answer(_ reply: ReplyToken, _ answer: JobAnswer) {
        // Its end gives the room back: once the client has the answer.
        let open = openAnswers.isEmpty ? nil : openAnswers.removeValue(forKey: reply)
        defer { withExtendedLifetime(open) {} }
        defer { if !wantedOutputs.isEmpty { wantedOutputs[reply] = nil } }
        guard reply.client != ScheduleRunner.client else {
            return schedules.answered(reply.number, answer)
        }
        guard reply.client != BulkRunner.client else { return bulk.answered(reply.number, answer) }
        guard reply.client != SubmittedJobs.client else {
            return submitted.answered(reply.number, answer)
        }
        guard reply.client != ServingChanges.client else {
            return driver.changed(reply.number, answer)
        }
        guard let session = session(of: reply.client) else { return }
        if case .failed(let error) = answer {
            driver.figures?.note(error)
            if case .storeFailed = error { health.storeFailed() }
            if !scopeChecks.isEmpty { scopeChecks[reply] = nil }
        }
        if !session.user.touchesAll, case .job(let status) = answer,
            isAnsweredElsewhere(status, session, reply)
        {
            return
        }
        switch answer {
        case .result(let bytes?): session.fill(reply, with: .bulk(bytes))
        case .job(let status) where !wantedOutputs.isEmpty:
            guard let attempt = wantedOutputs.removeValue(forKey: reply) else {
                return session.fill(reply, with: session.user.shown(RESPValue(answer)))
            }
            let found = driver.children.outputs.reading(
                of: status.job.id.number, attempt: attempt)
            session.fill(reply, with: RESPValue(found))
        case .job(let status):
            let remote = driver.exchange.ready(status.job.id)
            let isInherited = driver.exchange.inherited[status.job.id] != nil
            session.fill(
                reply,
                with: session.user.shown(
                    RESPValue(
                        answer,
                        remote?.entries ?? driver.exchange.lobby.entries(of: status.job.id)
                            ?? (isInherited ? [entry("waits-for", text("its worker"))] : []))))
        case .moved(let id, let thread, let milliseconds):
            goOnWaiting(for: id, of: thread, for: milliseconds, session, reply)
        case .accepted(let id) where reply.patience != nil: wait(for: id, session, reply)
        case .known(let id) where reply.patience != nil: wait(forNamed: id, session, reply)
        case .accepted(let id) where reply.tellsWhetherNew:
            session.fill(reply, with: .array([.integer(Int(id.number)), text("new")]))
        case .known(let id) where reply.tellsWhetherNew:
            session.fill(reply, with: .array([.integer(Int(id.number)), text("known")]))
        case .listed where open?.digest != nil:
            session.fill(reply, with: open?.digest.map { session.user.shown($0.value) } ?? .null)
        case .listed:
            let rows = open?.rows ?? []
            session.fill(reply, .rows(rows, count: open?.rowCount ?? 0, last: open?.last))
        default: session.fill(reply, with: RESPValue(answer))
        }
    }

    func add(_ rows: [JobStatus], tellsFailures: Bool, to reply: ReplyToken) -> Bool {
        guard reply.client != BulkRunner.client else { return bulk.add(rows, to: reply.number) }
        guard let session = session(of: reply.client),
            var open = openAnswers.removeValue(forKey: reply)
        else {
            openAnswers[reply] = nil
            return false
        }
        if let digest = open.digest {
            digest.add(rows)
            openAnswers[reply] = open
            return true
        }
        for row in rows {
            let failure = tellsFailures ? row.failure : []
            session.append(
                row: session.user.shown(.map(row.entries + failure)), of: reply, to: &open.rows)
        }
        open.rowCount += rows.count
        open.last = rows.last?.job.id ?? open.last
        openAnswers[reply] = open
        return true
    }

    func noteWaiting(_ reply: ReplyToken) {
        if !openAnswers.isEmpty { openAnswers[reply] = nil }
    }

    func tell(_ news: JobUpdate, to client: UInt64) { session(of: client)?.tell(news) }

    func isGone(_ client: UInt64) -> Bool { session(of: client) == nil }

    /// The session of a client, if it is connected.
    private func session(of client: UInt64) -> Session? {
        if let recentSession, recentSession.number == client, recentSession.isOpen {
            return recentSession
        }
        guard let session = sessions[client], session.isOpen else { return nil }
        recentSession = session
        return session
    }
}

extension Service: WorkerDoor {
    func answer(_ reply: ReplyToken, _ value: RESPValue) {
        sessions[reply.client]?.fill(reply, with: value)
    }

    func isNext(_ reply: ReplyToken) -> Bool { sessions[reply.client]?.isNext(reply) ?? false }

    func push(_ value: RESPValue, about subject: UInt64, to client: UInt64) {
        // The other version of the protocol has no pushes.
        guard let session = sessions[client], session.version == .three else { return }
        session.push(value, about: subject)
    }
}

extension Session {
    /// Whether the client may do more than authenticate.
    var isAuthenticated: Bool { standing != .stranger }

    /// Answers a command.
    func reply(_ value: RESPValue) { fill(reserve(), with: value) }
}
