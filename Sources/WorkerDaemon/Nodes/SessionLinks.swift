// The links of one client to other nodes, and the command that waits for one.
//
// A command whose node is not known or not reached is held: the session executes nothing behind it,
// so the order of commands is kept and one command is held at a time. It is tried again when owners
// change, when a link opens and after a fault, and refused when its time is over.

internal import Jobs
internal import RESP
internal import RunLoops

/// The links of a session.
///
/// Confined to its session's loop.
final class SessionLinks {
    /// The way to a node.
    enum Way {
        case open(NodeLink)
        /// There is no link yet, for this reason.
        case none(String)
    }

    /// The thread of a job, as far as it is known.
    enum FoundThread {
        case thread(String)
        /// The store has no such job.
        case nowhere
        /// The store was not asked, or has not answered.
        case unknown
    }

    /// The thing that a held command waits for.
    enum Wanted: Hashable {
        /// A link to a node, or that it takes its thread.
        case node(Int64)
        /// An owner of a thread or pool.
        case owner(of: String)
        /// The threads of jobs.
        case threads
    }

    /// A client's wait for a job whose thread a node has by now.
    private struct MovedWait {
        let command: Command
        let slot: ReplyToken
        /// The answer if the node can't be asked.
        let refusal: RESPValue
    }

    /// The last fault of a node's links.
    private struct Fault {
        let fault: LinkFault
        /// When the node is tried again.
        let end: Instant
    }

    /// How long a command waits for a node that can execute it.
    static let patience = Duration.seconds(5)
    /// The time between two tries to connect to a node.
    private static let connectPause = Duration.milliseconds(500)
    /// How long commands behind a refused one are refused at once: they came with it.
    private static let refusalAge = Duration.seconds(1)
    /// So many jobs' threads are remembered.
    private static let threadCountMax = 1_024

    unowned let session: Session
    private unowned let service: Service
    private var links: [Int64: NodeLink] = [:]
    private var faults: [Int64: Fault] = [:]
    /// The waits that go on at a node once there is a link to it.
    private var movedWaits: [Int64: [MovedWait]] = [:]
    private var held: Command?
    /// When the held command is refused.
    private var end: Instant?
    /// Whether the command that is executed was held.
    private var isTryingAgain = false
    /// The things that refused commands have waited for.
    ///
    /// Until `end`, a command that waits for one of them is refused at once.
    private var refusals: (wanted: Set<Wanted>, end: Instant)?
    private var wakeUp: ThreadRunLoop.Timeout?
    /// The threads of jobs at other nodes, as the store has told: a job keeps its thread.
    private var threads: [JobID: String] = [:]
    /// The jobs of the held command that the store does not have.
    private var missing: Set<JobID> = []
    /// The jobs whose threads are being looked for.
    private var sought: Set<JobID> = []
    /// The reason why the store could not say which thread a job has.
    private var storeFault: StoreFault?
    /// The pushes of other nodes that come before an answer that is being gathered.
    private var earlyPushes = LatestPushes()
    /// How many answers hold pushes back.
    private var holdCount = 0
    /// The TAKE that waits at several nodes.
    var round: TakeRound?

    init(of session: Session, _ service: Service) {
        self.session = session
        self.service = service
    }

    private var loop: ThreadRunLoop { session.loop }

    // MARK: - Links

    /// The links over which commands can be sent.
    var open: [NodeLink] { links.values.filter(\.isOpen).sorted { $0.node.id < $1.node.id } }

    /// The way to a node; begins to connect if there is no link.
    ///
    /// - Throws: why the node can't be reached, however often it is tried.
    func way(to node: StoreNode) throws(WireError) -> Way {
        if let link = links[node.id] {
            return link.isOpen
                ? .open(link) : .none(reason(of: node))
        }
        if let last = faults[node.id] {
            if let word = last.fault.word {
                faults[node.id] = nil
                throw WireError(word, last.fault.reason)
            }
            if loop.now < last.end { return .none(last.fault.reason) }
        }
        let target: LinkTarget
        do throws(LinkFault) {
            target = try LinkTarget(node, service.certificates)
        } catch {
            if let word = error.word { throw WireError(word, error.reason) }
            note(error, of: node)
            return .none(error.reason)
        }
        let limits = service.configuration.limits
        let link = NodeLink(
            to: node, of: self,
            resultByteCountMax: max(
                ReplyLimits().bulkByteCountMax, limits.outputBacklogBytes, limits.payloadBytes),
            on: loop)
        links[node.id] = link
        link.open(target, session.handshakes)
        return .none(reason(of: node))
    }

    private func reason(of node: StoreNode) -> String {
        faults[node.id]?.fault.reason ?? "it is not connected yet"
    }

    private func note(_ fault: LinkFault, of node: StoreNode) {
        faults[node.id] = Fault(fault: fault, end: loop.now.advanced(by: Self.connectPause))
    }

    func linkOpened(_ link: NodeLink) {
        faults[link.node.id] = nil
        for wait in movedWaits.removeValue(forKey: link.node.id) ?? [] { send(wait, over: link) }
        tryAgain()
    }

    func linkFailed(_ link: NodeLink, _ fault: LinkFault) {
        links[link.node.id] = nil
        note(fault, of: link.node)
        for wait in movedWaits.removeValue(forKey: link.node.id) ?? [] {
            session.fill(wait.slot, with: wait.refusal)
        }
        if fault.word == nil { service.linkWatch?.doubt(link.node.id) }
        tryAgain()
    }

    func linkEnded(_ link: NodeLink) { links[link.node.id] = nil }

    /// A link has sent or received something.
    func linkMoved() {
        guard session.pauses.contains(.links), !links.values.contains(where: \.isFull) else {
            return
        }
        session.pauses.remove(.links)
        session.goOn()
    }

    /// All commands that a link has sent are answered.
    func linkIsQuiet() {
        if held != nil, service.owners?.recentGivers.isEmpty == false { tryAgain() }
    }

    /// The client may have read something.
    func sessionMoved() { for link in links.values { link.updateInterest() } }

    /// The client has another protocol.
    func follow() { for link in links.values { link.follow() } }

    /// Ends the client's connection: what became of its commands is not known.
    func breakOff(_ reason: String) { session.breakOff(reason) }

    /// Sends the client a push of another node.
    func push(_ bytes: [UInt8]) {
        guard session.version == .three, let push = RESPValue(reply: bytes) else { return }
        let subject = Self.subject(of: push)
        guard holdCount == 0 else { return earlyPushes.put(push, about: subject) }
        session.push(push, about: subject)
    }

    /// Keeps pushes back until an answer is given.
    func holdPushes() { holdCount += 1 }

    /// Drops the pushes about these jobs that are kept back.
    func dropEarlyPushes(about subjects: Set<UInt64>) { earlyPushes.remove(about: subjects) }

    /// An answer is given that has held pushes back.
    func releasePushes() {
        holdCount -= 1
        while holdCount == 0, let push = earlyPushes.popFirst() {
            session.push(push, about: Self.subject(of: push))
        }
    }

    /// The number of the job that a push is about.
    private static func subject(of push: RESPValue) -> UInt64 {
        UInt64(clamping: push.elements.flatMap { $0.dropFirst().first?.integer } ?? 0)
    }

    func lendMemory(to replies: inout ReplyFramer) {
        replies.takeMemory(&session.outputRound.spareInput)
    }

    func takeMemory(of replies: inout ReplyFramer) {
        replies.giveMemory(&session.outputRound.spareInput)
    }

    /// Sends a command over a link; the client waits if the other node does not read.
    func send(_ command: Command, over link: NodeLink, for answer: OwedAnswer) {
        link.send(command, for: answer)
        if link.isFull { session.pauses.insert(.links) }
    }

    /// Sends a command over a link whose answer is a part of the client's one, and has to come in
    /// time.
    ///
    /// - Parameter take: gets the answer; called at once if the node is late already.
    func sendPart(
        _ command: Command, over link: NodeLink, of slot: ReplyToken,
        take: @escaping (RESPValue) -> Void
    ) {
        guard !link.isLate else { return take(link.lateness) }
        send(command, over: link, for: .part(slot, isTimed: true) { take($0.part(of: link)) })
    }

    /// Has a wait for the end of a job go on at another node.
    ///
    /// - Parameter refusal: the answer if that node can't be asked.
    func goOnWaiting(
        by command: Command, at node: StoreNode, for slot: ReplyToken, or refusal: RESPValue
    ) {
        let wait = MovedWait(command: command, slot: slot, refusal: refusal)
        // Behind a later command that waits, it would be answered when that has ended.
        let isBehind = round != nil || links[node.id]?.waits(after: slot) == true
        let way = isBehind ? nil : try? way(to: node)
        if case .open(let link)? = way { return send(wait, over: link) }
        guard way != nil, links[node.id] != nil else { return session.fill(slot, with: refusal) }
        movedWaits[node.id, default: []].append(wait)
    }

    private func send(_ wait: MovedWait, over link: NodeLink) {
        send(
            wait.command, over: link,
            for: .wait(wait.slot) { [unowned session] value in
                // An earlier version refuses what only this one may ask for.
                let isRefused = value.errorWord == WireError.Word.noPerm.rawValue
                session.fill(wait.slot, with: isRefused ? wait.refusal : value)
            })
    }

    /// Owners or nodes have changed: links to nodes that work no longer end.
    ///
    /// - Parameter missing: the nodes that may soon work again.
    func ownersChanged(_ nodes: [StoreNode], missing: [StoreNode]) {
        for link in links.values
        where !(nodes + missing).contains(where: { $0.id == link.node.id }) {
            link.fail("the node works no longer")
        }
        faults = faults.filter { fault in nodes.contains { $0.id == fault.key } }
        guard session.isOpen else { return }
        if let round, nodes.contains(where: { !round.hasAsked($0) }) { round.end() }
        refusals = nil
        tryAgain()
    }

    /// The session has ended.
    func close() {
        let ended = links
        links = [:]
        movedWaits = [:]
        for link in ended.values { link.leave() }
        held = nil
        round = nil
        endWakeUp()
    }

    // MARK: - The held command

    /// Holds a command until it can be executed.
    ///
    /// - Parameter nextTry: when it is tried again at the latest.
    /// - Throws: that its time is over, or that of one which came with it and wants the same.
    func hold(
        _ command: Command, for wanted: Wanted, because reason: String,
        patience: Duration = SessionLinks.patience, nextTry: Instant? = nil
    ) throws(WireError) {
        let now = loop.now
        let end = (isTryingAgain ? end : nil) ?? now.advanced(by: patience)
        if now >= end {
            // A command that was held meanwhile has not let earlier refusals grow old.
            let others = refusals?.wanted ?? []
            refusals = (others.union([wanted]), now.advanced(by: Self.refusalAge))
        } else if let age = refusals?.end, now >= age, !isTryingAgain {
            refusals = nil
        }
        if refusals?.wanted.contains(wanted) == true {
            noteWayFound()
            throw WireError(.busy, "\(reason); a takeover takes seconds, try again")
        }
        self.end = end
        held = command
        session.pauses.insert(.held)
        let tries = faults.values.map(\.end).filter { now < $0 } + [nextTry ?? end, end]
        wakeUp(at: tries.min() ?? end)
    }

    /// A command goes its way, or is answered.
    func noteWayFound() {
        end = nil
        forgetQuestions()
    }

    private func tryAgain() {
        guard let command = held else { return }
        held = nil
        endWakeUp()
        session.pauses.remove(.held)
        isTryingAgain = true
        service.executeAgain(command, for: session)
        isTryingAgain = false
        session.goOn()
    }

    private func wakeUp(at date: Instant) {
        endWakeUp()
        let links = Confined(self, to: loop)
        wakeUp = loop.schedule(at: date) {
            links.value.wakeUp = nil
            links.value.tryAgain()
        }
    }

    private func endWakeUp() {
        if let wakeUp { loop.cancel(wakeUp) }
        wakeUp = nil
    }

    // MARK: - The threads of jobs

    /// The thread of a job, as the store has told it.
    ///
    /// - Throws: why the store does not say.
    func thread(of id: JobID) throws(WireError) -> FoundThread {
        if let storeFault {
            noteWayFound()
            throw WireError(.busy, "\(storeFault)")
        }
        if missing.contains(id) { return .nowhere }
        return threads[id].map { .thread($0) } ?? .unknown
    }

    /// Remembers the thread of a job.
    func note(_ thread: String, of id: JobID) {
        if threads.count >= Self.threadCountMax { threads.removeAll() }
        threads[id] = thread
    }

    /// Asks the store for the threads of jobs; the held command is tried again once all are known.
    func seek(_ ids: [JobID], _ owners: any ThreadOwners) {
        for id in ids where sought.insert(id).inserted {
            owners.findThread(of: id) { [weak self] in self?.found(id, $0) }
        }
    }

    private func found(_ id: JobID, _ result: Result<String?, StoreFault>) {
        // The command may have been refused meanwhile.
        guard sought.remove(id) != nil else { return }
        switch result {
        case .success(let thread?): note(thread, of: id)
        case .success(nil): missing.insert(id)
        case .failure(let fault): storeFault = fault
        }
        if sought.isEmpty { tryAgain() }
    }

    /// Forgets what the store did not know: another command asks again.
    private func forgetQuestions() {
        missing = []
        sought = []
        storeFault = nil
    }
}
