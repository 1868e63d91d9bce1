// The page's way in: a ticket from the command PAGE for a key. The ticket is in the fragment of an
// address, which browsers send to no server; the key is in `Authorization`, and in no cookie, which
// any server of the same host would get.

internal import HTTP
internal import Jobs
internal import RESP

extension Service {
    /// Answers a ticket with a key.
    func openSession(_ head: RequestHead, _ body: [UInt8], _ session: Session) {
        // A place before the ticket waits for its turn: a connection without one may be closed.
        let call = HTTPCall(head, .object)
        session.conversation?.next = .call(call)
        let reply = session.reserve()
        do {
            let request = try WebRequest(head, [], body: body)
            try request.checkQuery([])
            try request.checkMembers(["ticket"])
            try takeTicket(try request.required("ticket"), reply, call, session)
        } catch {
            session.fill(reply, with: WireError(error).reply)
        }
    }

    private func takeTicket(
        _ ticket: [UInt8], _ reply: ReplyToken, _ call: HTTPCall, _ session: Session
    ) throws {
        do throws(WireError) {
            let isLater = try passwordGate.postpones(session, self) { [unowned self] session in
                do {
                    try takeTicket(ticket, reply, call, session)
                } catch {
                    session.fill(reply, with: WireError(error).reply)
                }
            }
            if isLater { return }
        } catch {
            var call = call
            call.errorStatus = .tooManyRequests
            session.conversation?.change(reply.number, to: .call(call))
            throw error
        }
        guard let (key, user) = try pages.makeKey(for: ticket) else {
            passwordGate.guessedWrong(session)
            throw WireError(
                .wrongPass, "the ticket was used, is too old, or never was: make another one")
        }
        log.info("user \(user.name) opens the page \(session.ends)")
        session.fill(
            reply, with: .map([entry("key", text(key))] + Self.entries(of: user)))
    }

    /// A user as the page shows it.
    static func description(of user: User) -> RESPValue { .map(entries(of: user)) }

    private static func entries(of user: User) -> [RESPValue.Entry] {
        [
            entry("user", text(user.name)), entry("roles", .array(user.roles.names.map(text))),
            entry("payloads", .boolean(user.seesPayloads)),
            entry("version", text(Service.version)),
        ]
    }
}

extension Session {
    /// Answers a request with an object.
    func answer(_ head: RequestHead, _ value: RESPValue) {
        conversation?.next = .call(HTTPCall(head, .object))
        reply(value)
    }

    /// Whether the user may ask for something that no command gives; refuses it otherwise.
    func mayAsk(_ access: Access, _ name: String, _ head: RequestHead) -> Bool {
        do throws(WireError) {
            try access.check(name, user)
            return true
        } catch {
            answer(head, error.reply)
            return false
        }
    }
}
