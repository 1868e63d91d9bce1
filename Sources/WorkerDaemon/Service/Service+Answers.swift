// The way of an answer: from the desk to the client that has asked, or to the schedule.

internal import Jobs
internal import RESP

extension Service: JobDoor {
    /// A listing on its way to a client, whose rows are written as they come.
    struct RowBuffer {
        var count = 0
        var rows: [UInt8] = []
    }

    func answer(_ reply: ReplyToken, _ answer: JobAnswer) {
        // Its end gives the room back: once the client has the answer.
        let grant = grants.isEmpty ? nil : grants.removeValue(forKey: reply)
        defer { withExtendedLifetime(grant) {} }
        guard reply.client != ScheduleBook.client else {
            return schedules.answered(reply.number, answer)
        }
        guard let session = session(of: reply.client) else { return }
        switch answer {
        case .accepted(let id) where reply.patience != nil: wait(for: id, session, reply)
        case .listed:
            let listing = listings.removeValue(forKey: reply) ?? RowBuffer()
            var bytes: [UInt8] = []
            session.writer.writeArrayHeader(count: listing.count, to: &bytes)
            session.fill(reply, encoded: bytes + listing.rows)
        default:
            if !listings.isEmpty { listings[reply] = nil }
            session.fill(reply, with: RESPValue(answer))
        }
    }

    func add(_ rows: [JobDescription], to reply: ReplyToken) -> Bool {
        guard let session = session(of: reply.client) else {
            listings[reply] = nil
            grants[reply] = nil
            return false
        }
        var listing = listings.removeValue(forKey: reply) ?? RowBuffer()
        for row in rows { session.writer.write(.map(row.entries), to: &listing.rows) }
        listing.count += rows.count
        listings[reply] = listing
        return true
    }

    func noteWaiting(_ reply: ReplyToken) {
        if !grants.isEmpty { grants[reply] = nil }
    }

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
