// The daemon as its clients see it: doors, sessions, the driver and the commands. Everything in
// here is confined to the thread `io`.

internal import HTTP
internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops
internal import TLS
internal import Wording

/// How the daemon is to go down.
enum ShutdownMode: Sendable, Comparable {
    /// After everything that was accepted.
    case finishWaiting
    /// After the jobs that run, within the grace period.
    case finishRunning
    /// At once.
    case now
}

/// The service of the thread `io`: doors, sessions, scheduler, schedules.
///
/// Confined to its loop's thread.
final class Service: SessionDelegate {
    static let version = Release.version
    /// How long a client may keep its place without giving the password that is asked for.
    private static let passwordPatience = Duration.seconds(30)
    /// So many of the last places are for doors that ask for no password, if there are twice as
    /// many in all.
    private static let keptPlaceCount = 16

    /// The configuration in force.
    var configuration: Configuration
    let loop: ThreadRunLoop
    let log: Log
    let driver: SchedulerDriver
    let schedules: ScheduleRunner
    let backups: Backups
    let commands = CommandTable()
    /// The users, and what they prove themselves with.
    var users: UserBook
    /// Tickets and keys of the page.
    let pages: PageSessions
    var web: WebSite
    let operations: OperationLog
    private(set) lazy var health = HealthCheck(driver)
    private(set) lazy var bulk = BulkRunner(driver) { [unowned self] reply, value in
        sessions[reply.client]?.fill(reply, with: value)
    }
    private(set) lazy var submitted = SubmittedJobs(driver) { [unowned self] in
        configuration.limits.payloadBytes
    }
    let streams: OpenStreams
    /// Names this run of the daemon.
    let epoch = EventJournal.newEpoch()
    private(set) lazy var live = makeLiveBoard()
    private(set) lazy var reloads = Reloads(self)
    /// Which node has each thread; nil if this daemon has all threads.
    var owners: (any ThreadOwners)? { didSet { followOwners() } }
    /// Whether the other nodes are reached; nil if this daemon has all threads.
    var linkWatch: LinkWatch?
    /// Whether the daemon has taken up its jobs and schedules.
    var isStarted = false
    private(set) var sessions: [UInt64: Session] = [:]
    private(set) var connectionCount: UInt64 = 0
    private(set) var rejectedCount: UInt64 = 0
    private(set) var commandCount: UInt64 = 0
    var doors: [(setting: DoorSetting, door: Door)] = []
    /// The certificates of the doors with TLS.
    var certificates = DoorCertificates()
    /// Whether clients go on to come in at its doors when it has ended, and wait for the next one.
    var doorsOutliveIt = false
    private var isTakingLeave = false
    var strangers: StrangerPlaces
    let passwordGate: PasswordGate
    private let warningOfHTTP: RareWarning
    private let warningOfTLS: RareWarning
    private let warningOfPlaintext: RareWarning
    let warningOfLinks: RareWarning
    private var shutdown: Shutdown?
    private var lastSessionEnded: (() -> Void)?
    /// The limits of connections that come in.
    var sessionLimits: SessionLimits
    private let outputRound: OutputRound
    let handshakes: HandshakeRound
    /// Questions with large answers, or such that the store has to be asked for.
    private(set) lazy var questions: QuestionQueue = QuestionQueue(whenRoom: { [unowned self] in
        let service = Confined(self, to: loop)
        loop.perform { service.value.questions.advance() }
    })
    /// Answers that are being made.
    var openAnswers: [ReplyToken: OpenAnswer] {
        _read { yield unsafe uncheckedOpenAnswers }
        _modify { yield unsafe &uncheckedOpenAnswers }
    }
    /// The attempt whose output is the answer in place of a job's description; 0 for the latest.
    var wantedOutputs: [ReplyToken: Int] {
        _read { yield unsafe uncheckedWantedOutputs }
        _modify { yield unsafe &uncheckedWantedOutputs }
    }
    /// Commands that go on once their job was looked up, and is one that the user may touch.
    var scopeChecks: [ReplyToken: (ReplyToken) -> Void] {
        _read { yield unsafe uncheckedScopeChecks }
        _modify { yield unsafe &uncheckedScopeChecks }
    }
    /// The thread and the selector that PERFORM named last.
    var recentNames: RecentNames {
        _read { yield unsafe uncheckedRecentNames }
        _modify { yield unsafe &uncheckedRecentNames }
    }
    /// Counts the jobs that the nodes of a spread pool take in turn.
    var slotTurn: UInt64 = 0
    /// The name of a thread of this node, as the latest command for one had it.
    ///
    /// A command with the same bytes needs no look at the owners. Empty when owners have changed.
    var recentOwnThread: [UInt8] {
        _read { yield unsafe uncheckedRecentOwnThread }
        _modify { yield unsafe &uncheckedRecentOwnThread }
    }
    // SAFETY: confined to the loop's thread; a change of one calls nothing that looks at it. Each
    // job or answer looks at all of them, and mostly finds them empty or the same.
    @exclusivity(unchecked) private var uncheckedRecentNames = RecentNames()
    @exclusivity(unchecked) private var uncheckedRecentOwnThread: [UInt8] = []
    @exclusivity(unchecked) private var uncheckedOpenAnswers: [ReplyToken: OpenAnswer] = [:]
    @exclusivity(unchecked) private var uncheckedWantedOutputs: [ReplyToken: Int] = [:]
    @exclusivity(unchecked) private var uncheckedScopeChecks: [ReplyToken: (ReplyToken) -> Void] =
        [:]
    /// The one that was answered last: most answers come in rows.
    var recentSession: Session?
    /// Looks for clients that do not read, as long as others wait for room.
    var readerWatch: ThreadRunLoop.Timer?
    /// Tells the main thread that a client wants the daemon to go down.
    private let shutdownAsked: @Sendable (ShutdownMode) -> Void

    init(
        configuration: Configuration, driver: SchedulerDriver, schedules: ScheduleRunner,
        users: UserBook, loop: ThreadRunLoop, log: Log,
        shutdownAsked: @escaping @Sendable (ShutdownMode) -> Void
    ) {
        self.configuration = configuration
        self.driver = driver
        self.schedules = schedules
        self.users = users
        pages = PageSessions(on: loop)
        operations = OperationLog(log)
        web = WebSite(names: configuration.listen.http.names)
        self.loop = loop
        self.log = log
        self.shutdownAsked = shutdownAsked
        backups = Backups(driver: driver, directory: configuration.backups, loop: loop, log: log)
        outputRound = OutputRound(on: loop)
        handshakes = HandshakeRound(on: loop)
        let limits = configuration.limits
        streams = OpenStreams(countMax: limits.streams, loop: loop)
        strangers = StrangerPlaces(placeCount: limits.connections)
        passwordGate = PasswordGate(on: loop, log)
        warningOfHTTP = RareWarning(on: loop, log) { count, peer in
            "HTTP \(peer), where commands are expected"
                + (count == 1 ? "" : ": the last of \(count) within a minute")
        }
        warningOfTLS = RareWarning(on: loop, log) { count, client in
            count == 1
                ? "no TLS with a client \(client)"
                : "no TLS with \(count) clients within a minute, the last one \(client)"
        }
        warningOfPlaintext = RareWarning(on: loop, log) { count, peer in
            "TLS \(peer), where plaintext is expected"
                + (count == 1 ? "" : ": the last of \(count) within a minute")
        }
        warningOfLinks = RareWarning(on: loop, log) { count, client in
            "a wrong secret of a node's link from \(client)"
                + (count == 1 ? "" : ", the last of \(count) within a minute")
        }
        sessionLimits = SessionLimits(limits)
        if configuration.listen.http.isServed {
            driver.figures = AttemptFigures(
                groups: driver.groupsByIndex, selectors: driver.selectorNames)
        }
        driver.keepEvents(within: limits, epoch: epoch)
        driver.door = self
        driver.exchange.door = self
        backups.answer = { [unowned self] reply, result in
            let value: RESPValue =
                switch result {
                case .success(let path): text(path)
                case .failure(let error): WireError(error).reply
                }
            sessions[reply.client]?.fill(reply, with: value)
        }
        driver.whenSubmitted = { [unowned self] in submitted.take($0) }
        driver.whenThrottling = { [unowned self] isThrottling in
            outputRound.throttlesClients = isThrottling
            guard !isThrottling else { return }
            // In a pass of its own: the driver is in the middle of the store's answers.
            let service = Confined(self, to: loop)
            loop.perform { service.value.sessions.values.forEach { $0.goOn() } }
        }
    }

    /// Stops listening: new connections are refused.
    func closeDoors() {
        doors.forEach { $0.door.close() }
        doors.removeAll()
    }

    /// Closes each connection once its commands are answered and the answers are sent.
    func closeSessions() {
        isTakingLeave = true
        streams.end()
        for session in sessions.values { session.takeLeave(awaitsFirst: doorsOutliveIt) }
    }

    /// Calls `body` once no session is left, at once if there is none.
    func whenLastSessionEnds(_ body: @escaping () -> Void) {
        if sessions.isEmpty { return body() }
        lastSessionEnded = body
    }

    /// Closes the remaining connections, their answers sent or not.
    func dropSessions() {
        for session in sessions.values { session.close("the daemon is down") }
    }

    /// Begins to go down, or hurries on if that is under way.
    ///
    /// - Parameter whenDown: called on this thread once all is said and sent.
    func shutDown(
        _ manner: ShutdownMode, whenDown: @escaping @Sendable (_ hasStuckThreads: Bool) -> Void
    ) {
        if let shutdown { return shutdown.hurry(to: manner) }
        shutdown = Shutdown(self, manner, whenDown: whenDown)
    }

    /// Takes up threads one by one, beside other daemons.
    ///
    /// - Parameter linkSecret: as on the card of this node.
    func share(threadsOf seat: Int64, linkSecret: String) {
        let sharing = ThreadSharing(
            driver, schedules, seat: seat, linkSecret: linkSecret, log: log
        ) { [unowned self] in configuration.schedules }
        schedules.isConfigured = { [unowned self] name in
            configuration.schedules.contains { $0.name == name }
        }
        owners = sharing
        linkWatch = LinkWatch(self)
        showCard()
        sharing.start()
    }

    /// Tells other nodes where the doors are now, and the certificate that they show.
    func showCard() {
        var card = configuration.nodeCard
        card.linkSecret = owners?.linkSecret
        card.wanted = owners?.wanted ?? []
        card.certificate = certificates.ofNode
        driver.store.show(card)
    }

    /// Lets go of everything: the daemon is down, or dropped.
    func close() {
        shutdown = nil
        owners?.close()
        owners = nil
        linkWatch?.close()
        linkWatch = nil
        if driver.live != nil { live.close() }
        reloads.close()
        backups.close()
        schedules.close()
        driver.close()
    }

    func askForShutdown(_ manner: ShutdownMode) {
        shutdownAsked(manner)
    }

    func execute(_ command: Command, for session: Session) {
        commandCount += 1
        do {
            let found = try commands.find(command, for: session)
            session.lastCommand = found.name
            let isPassedOn = try owners != nil && passesOn(command, found, session)
            if !isPassedOn {
                if found.access.mayBeLogged { noteOperation(command, found, session) }
                if let reply = try found.execute(self, session, command) { session.reply(reply) }
            }
            if isTakingLeave { closeSoon(session) }
        } catch {
            // Only a command that fails costs this look.
            if HTTPRequest.isBegun(by: command), commands[command.text(at: 0).lowercased()] == nil {
                warningOfHTTP.happened(from: session.ends.description)
                return session.close("no client of this protocol")
            }
            session.reply(WireError(error).reply)
        }
    }

    /// Executes a command again that was held.
    func executeAgain(_ command: Command, for session: Session) {
        commandCount -= 1
        execute(command, for: session)
    }

    /// Closes a connection in the next pass: commands that came in one go are all executed.
    private func closeSoon(_ session: Session) {
        let leaving = Confined(session, to: loop)
        loop.perform { leaving.value.closeWhenAnswered() }
    }

    /// Notes a command of an operator, and later its answer.
    func noteOperation(
        _ command: Command, _ found: CommandSpecification, _ session: Session
    ) {
        guard let shownCount = found.access.of(command).shownCount,
            let command = operation(of: command, session)
        else { return }
        let operation = operations.note(
            command, showing: shownCount, of: session, at: driver.wall.unixMilliseconds())
        session.noteNextAnswer { [operations] in operations.answered(operation, $0) }
    }

    /// Serves a client that has given a user's password: its place is no stranger's any more.
    ///
    /// Its stream and the jobs that it observes, which it has asked for with other rights, end.
    func letIn(_ session: Session, as user: User) {
        if !user.hasRights(of: session.user) { endPushes(to: session) }
        session.authenticate(as: user)
        session.links?.follow()
        strangers.remove(session.number)
    }

    /// Tells a client nothing more that it does not ask for.
    func endPushes(to session: Session) {
        session.endPushes()
        endStream(of: session.number)
        driver.stopWatching(session.number)
    }

    /// Makes a session as new; where a password is asked for it is a stranger again.
    func reset(_ session: Session) {
        endPushes(to: session)
        session.reset()
        if !session.isAuthenticated { expectPassword(of: session) }
    }

    func sessionWroteAll(_ session: Session) {
        if driver.exchange.hasUnanswered { driver.exchange.match() }
    }

    func handshakeEnded(_ session: Session, _ fault: TLSError?) {
        switch fault {
        case nil:
            guard let tls = session.socket?.tls else { return }
            let subject = tls.peerSubject.map { ", certificate \($0)" } ?? ""
            log.debug("client \(session.number): \(tls.version), \(tls.cipher)\(subject)")
        // A client that changed its mind, or a probe of the port.
        case .hungUp, .system: break
        case .plaintext, .otherCertificate, .fault:
            warningOfTLS.happened(from: "\(session.ends): \(fault.map { "\($0)" } ?? "")")
        }
    }

    func handshakeRefused(_ session: Session) {
        warningOfPlaintext.happened(from: session.ends.description)
    }

    func sessionEnded(_ session: Session, reason: String) {
        sessions[session.number] = nil
        if recentSession === session { recentSession = nil }
        questions.forget(session.number)
        strangers.remove(session.number)
        driver.stopWatching(session.number)
        endStream(of: session.number)
        driver.exchange.sessionEnded(session.number)
        if sessions.isEmpty { lastSessionEnded.take()?() }
        log.debug("client \(session.number) left: \(reason)")
    }

    /// Serves a connection that has come in through a door.
    func admit(_ socket: consuming Descriptor, through door: Door) {
        let ends = door.ends(of: socket)
        let user = door.asksForPassword ? nil : users.user(of: ends, dialect: door.dialect)
        admit(
            socket, ends, user, dialect: door.dialect, tls: door.tls, mayBePassedOn: door.isTCP)
    }

    /// Serves a connection, whichever way it came in.
    ///
    /// - Parameters:
    ///   - user: whose rights it has; nil if it has to authenticate first.
    ///   - tls: TLS of the connection; nil for plaintext.
    ///   - mayBePassedOn: whether another node may have passed it on.
    func admit(
        _ socket: consuming Descriptor, _ ends: PeerInfo, _ user: User?,
        dialect: Dialect = .commands, tls: TLSContext? = nil, mayBePassedOn: Bool = false
    ) {
        let asksForPassword = user == nil
        connectionCount += 1
        let placeCount = Self.placeCount(
            configuration.limits, asksForPassword: asksForPassword, doors.map(\.door))
        guard sessions.count < placeCount else {
            rejectedCount += 1
            return turnAway(socket, "max number of clients reached", dialect, tls)
        }
        if asksForPassword, let refusal = strangers.refusal(of: ends.network) {
            rejectedCount += 1
            return turnAway(socket, refusal, dialect, tls)
        }
        let number = connectionCount
        let connection: Session.Socket
        do throws(TLSError) {
            connection = try Session.Socket(socket, tls)
        } catch {
            rejectedCount += 1
            return log.error("client \(number) \(ends) was turned away: \(error)")
        }
        let session = Session(
            number: number, socket: connection, ends: ends, user: user, dialect: dialect,
            limits: sessionLimits, loop: loop,
            outputRound: outputRound, handshakes: handshakes, delegate: self)
        if mayBePassedOn { session.markByteCount = 0 }
        sessions[number] = session
        do throws(SystemError) {
            try session.start()
            log.debug("client \(number) came in \(ends)")
            if asksForPassword { expectPassword(of: session) }
        } catch {
            session.close("it can't be watched: \(error)")
        }
    }

    /// Says why a connection is not served, and closes it.
    ///
    /// A courtesy: whether it arrives or not, the connection is closed. With TLS it would cost a
    /// handshake.
    private func turnAway(
        _ socket: consuming Descriptor, _ reason: String, _ dialect: Dialect, _ tls: TLSContext?
    ) {
        guard tls == nil else { return }
        let bytes =
            switch dialect {
            case .commands: Array("-ERR \(reason)\r\n".utf8)
            case .requests: HTTPCall.refusal(HTTPRefusal(.serviceUnavailable, reason))
            }
        _ = try? socket.send(contentsOf: bytes)
    }

    /// The number of clients at which a door refuses the next one.
    ///
    /// At a door that asks for the password after connecting, any process can take places. So the
    /// last places are kept for doors without a password: an operator may need them to list the
    /// clients or to end the daemon.
    static func placeCount(
        _ limits: Configuration.Limits, asksForPassword: Bool, _ doors: [Door]
    ) -> Int {
        let all = limits.connections
        guard asksForPassword, doors.contains(where: { !$0.asksForPassword }) else { return all }
        return all - min(Self.keptPlaceCount, all / 2)
    }

    /// Closes a connection that has not given the password in time: it takes a client's place.
    private func expectPassword(of session: Session) {
        strangers.insert(session.number, from: session.ends.network)
        let waiting = Confined((service: self, number: session.number), to: loop)
        let limit = loop.now.advanced(by: Self.passwordPatience)
        let timer = ThreadRunLoop.Timer(at: limit) { _ in
            let session = waiting.value.service.sessions[waiting.value.number]
            guard let session, !session.isAuthenticated else { return }
            session.close("it gave no password within \(Self.passwordPatience)")
        }
        loop.add(timer)
    }
}
