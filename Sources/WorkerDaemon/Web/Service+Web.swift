// The HTTP half of the service: checks the key of a request, and executes the request.

internal import HTTP
internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops

extension Service {
    func execute(_ part: Result<RequestPart, HTTPRefusal>, for session: Session) {
        guard let conversation = session.conversation else { return }
        switch part {
        case .failure(let refusal): session.refuse(refusal, to: nil)
        case .success(.head(let head)): begin(head, conversation, session)
        case .success(.body(let body)): finish(body, conversation, session)
        }
    }

    /// Accepts or refuses a request before its body is read.
    private func begin(
        _ head: RequestHead, _ conversation: HTTPConversation, _ session: Session
    ) {
        conversation.head = head
        conversation.refusal = nil
        do throws(HTTPRefusal) {
            guard try admits(head, session) else { return }
        } catch {
            conversation.refusal = error
            // The body of a refused request is not read, nor what follows it. Without a body, the
            // answer comes in its turn, unless nothing more is read.
            guard head.bodyByteCount > 0 || session.hasInputEnded else { return }
            session.closeAfterRefusal()
            return session.refuse(error, to: head)
        }
        if head.expectsContinue {
            session.fill(session.reserve(), encoded: ResponseWriter.goOn)
        }
    }

    /// Whether a request may go on: false if it has to wait for its turn, and is begun again then.
    private func admits(_ head: RequestHead, _ session: Session) throws(HTTPRefusal) -> Bool {
        let (route, _) = try WebRoute.find(head)
        if !route.needsKey { try WebSite.checkSizeWithoutKey(head) }
        guard route.checksSite else { return true }
        // No browser comes through a Unix socket.
        if session.ends.process == nil { try web.check(head) }
        if route.needsKey, try !checkKey(head, session) { return false }
        try WebSite.checkContent(head)
        return true
    }

    private static let scheme = "bearer "

    /// Looks at the key of a request, and gives the session the rights of its user.
    ///
    /// - Returns: false if it has to wait for its turn.
    private func checkKey(_ head: RequestHead, _ session: Session) throws(HTTPRefusal) -> Bool {
        let field = users.hasKeys ? head.text(of: "authorization") : nil
        guard let field, field.lowercased().hasPrefix(Self.scheme) else {
            if let user = session.doorUser { return try use(user, session) }
            guard users.hasKeys else {
                throw HTTPRefusal(
                    .forbidden, "this socket is for the user that workerd runs as, and for root")
            }
            throw HTTPRefusal(.unauthorized, "a key is asked for: Authorization: Bearer KEY")
        }
        let guess = Array(field.utf8.dropFirst(Self.scheme.utf8.count))
        let found = users.user(ofKey: guess) ?? pages.user(ofKey: guess)
        // A connection that has given a key once guesses no more: others may keep its address
        // waiting.
        if session.isAuthenticated, let found { return try use(found, session) }
        do throws(WireError) {
            let isLater = try passwordGate.postpones(session, self) { [unowned self] session in
                execute(.success(.head(head)), for: session)
            }
            if isLater { return false }
        } catch {
            throw HTTPRefusal(.tooManyRequests, error.message)
        }
        guard let found else {
            passwordGate.guessedWrong(session)
            throw HTTPRefusal(.unauthorized, "this is not the key")
        }
        return try use(found, session)
    }

    /// Gives a session the rights of a user, for the request that has begun.
    ///
    /// - Returns: true.
    private func use(_ user: User, _ session: Session) throws(HTTPRefusal) -> Bool {
        if session.user === user { return true }
        // Answers are made with the rights of the session's user.
        guard session.pendingReplyCount == 0 else {
            throw HTTPRefusal(
                .badRequest, "requests of another user have not been answered on this connection")
        }
        letIn(session, as: user)
        return true
    }

    /// Executes a request that has arrived in full.
    private func finish(
        _ body: [UInt8], _ conversation: HTTPConversation, _ session: Session
    ) {
        guard let head = conversation.head else { return }
        conversation.head = nil
        if !head.keepsAlive { session.closeWhenAnswered() }
        do throws(HTTPRefusal) {
            if let refusal = conversation.refusal { throw refusal }
            let (route, parameters) = try WebRoute.find(head)
            switch route.content {
            case .command(let shape, let make):
                run(route, make, shape, head, parameters, body, session)
            case .health: answerHealth(head, session)
            case .readiness: answerReadiness(head, session)
            case .metrics:
                if session.mayAsk(WebRoute.metricsAccess, "metrics", head) {
                    answerMetrics(head, session)
                }
            case .openSession: openSession(head, body, session)
            case .session: session.answer(head, Self.description(of: session.user))
            case .stream(let name, let access, let make):
                if session.mayAsk(access, name, head) { openStream(make, head, body, session) }
            case .asset(let asset): session.answer(head, asset)
            }
        } catch {
            session.refuse(error, to: head)
        }
    }

    /// Executes a command whose answer is about all threads or such, once its turn has come.
    private func executeInTurn(_ command: Command, for session: Session) {
        let slot = session.reserve()
        askForState(session, slot) { [unowned self, unowned session] in
            defer { endState(slot) }
            do {
                let found = try commands.find(command, for: session)
                let value = try found.execute(self, session, command)
                session.fill(slot, with: value ?? .null)
            } catch {
                session.fill(slot, with: WireError(error).reply)
            }
        }
    }

    private func run(
        _ route: WebRoute,
        _ make: (WebRequest, Service) throws -> CommandArguments, _ shape: HTTPCall.Shape,
        _ head: RequestHead, _ parameters: [String], _ body: [UInt8], _ session: Session
    ) {
        var call = HTTPCall(head, shape)
        do {
            let request = try WebRequest(head, parameters, body: body)
            if case .jobs = shape {
                call = HTTPCall(head, .jobs(limit: JobListRequest.limit(request)))
            }
            let arguments = try make(request, self).all
            let max = configuration.limits.payloadBytes
            if let large = arguments.first(where: { $0.count > max }) {
                throw HTTPRefusal(
                    .contentTooLarge,
                    "a value has \(large.count) bytes, the limit is \(max) "
                        + "(limits.payload in the configuration)")
            }
            session.conversation?.next = .call(call)
            let command = Command(arguments)
            guard route.isOfAll else { return execute(command, for: session) }
            executeInTurn(command, for: session)
        } catch let refusal as HTTPRefusal {
            session.refuse(refusal, to: head)
        } catch {
            session.conversation?.next = .call(call)
            session.reply(WireError(error).reply)
        }
    }
}

extension Session {
    /// Answers a request that is refused.
    func refuse(_ refusal: HTTPRefusal, to head: RequestHead?) {
        var fields: ResponseHead.Fields = []
        if refusal.status == .methodNotAllowed {
            fields = [("Allow", head?.method == .post ? "GET, HEAD" : "POST")]
        }
        conversation?.next = .call(HTTPCall(refusal, to: head, fields: fields))
        reply(refusal.value)
    }

    /// Answers a request with a text.
    func answer(
        _ head: RequestHead, _ status: HTTPStatus, _ text: String,
        _ kind: String = HTTPCall.plainText
    ) {
        fill(reserve(head, status, kind), encoded: Array(text.utf8))
    }

    /// Keeps a place for the text that answers a request.
    func reserve(_ head: RequestHead, _ status: HTTPStatus, _ kind: String) -> ReplyToken {
        conversation?.next = .call(HTTPCall(head, .text(status, kind)))
        return reserve()
    }
}
