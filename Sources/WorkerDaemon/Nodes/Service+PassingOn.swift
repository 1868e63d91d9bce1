// The service's part in working with other nodes: finds the nodes that execute a command, and
// passes it on. A command that came over a link is passed on no further.

internal import HTTP
internal import Jobs
internal import RESP
internal import RunLoops
internal import Wording

/// The way of a command, once it is known.
private enum CommandWay {
    case here
    /// To another node, which has this thread, pool or slot.
    case node(StoreNode, of: String)
    /// To several nodes.
    case several
    /// No node can execute it yet, for this reason.
    case none(SessionLinks.Wanted, String)
    /// The store has to be asked for the threads of these jobs.
    case unknown([JobID])
}

extension Service {
    /// Passes a command on, or holds it, if it is not for this node alone.
    ///
    /// - Returns: false if this node executes it, now.
    /// - Throws: the answer, if no node can execute it.
    func passesOn(
        _ command: Command, _ found: CommandSpecification, _ session: Session
    ) throws(WireError) -> Bool {
        guard let owners, !found.route.isHere else { return false }
        let target = found.route.target(of: command)
        let way = try way(of: command, to: target, session, owners)
        if try waitsBehindOthers(command, to: way.node, session, owners) { return true }
        switch way {
        case .here:
            session.links?.noteWayFound()
            return false
        case .node(let node, let unit):
            try pass(command, found, to: node, of: unit, session, owners)
        case .several:
            try passToSeveral(command, found, target, session, owners)
        case .none(let wanted, let reason):
            try links(of: session).hold(command, for: wanted, because: reason)
        case .unknown(let ids):
            let links = links(of: session)
            try links.hold(
                command, for: .threads,
                because: "the store does not say which thread has the job")
            links.seek(ids, owners)
        }
        return true
    }

    func links(of session: Session) -> SessionLinks {
        if let links = session.links { return links }
        let links = SessionLinks(of: session, self)
        session.links = links
        return links
    }

    // MARK: - Finding the way

    private func way(
        of command: Command, to target: CommandTarget, _ session: Session,
        _ owners: any ThreadOwners
    ) throws(WireError) -> CommandWay {
        switch target {
        case .here: return .here
        case .thread(let place), .submit(let place), .slots(let place, _), .pool(let place, _):
            if command.isEqual(to: recentOwnThread, at: place) { return .here }
            if let pool = spreadPool(of: command, at: place) {
                return way(of: command, to: target, inPool: pool, session, owners)
            }
            let name = command.text(at: place)
            if !session.isLink, PoolSlot.isOne(name) {
                throw WireError(JobError.unknownThread(name))
            }
            let way = way(toThread: name, owners)
            // Clients may not name a slot.
            let isSlot = PoolSlot.isOne(name)
            if case .here = way, !isSlot, owners.owner(of: ThreadGroup.name(of: name)) == .here {
                recentOwnThread = command.bytes(at: place)
            }
            return way
        case .job(let place):
            // A wrong number is refused when the command is executed.
            guard let id = JobID(bytes: command[place]) else { return .here }
            let way = try way(toJobs: [id], session, owners)
            if case .here = way { try checkThread(of: command, id, session) }
            return way
        case .watch:
            guard let ids = WatchCommands.jobs(of: command), session.version == .three
            else { return .here }
            return try way(toJobs: ids, session, owners)
        case .all(.jobs), .all(.failures):
            // Wrong arguments are refused when the command is executed.
            guard let arguments = try? JobsArguments(command, self, session.user) else {
                return .here
            }
            if let thread = arguments.conditions.thread,
                spread.count(of: thread) == 1 || session.isAlone(owners) && isElsewhere(thread)
            {
                return way(toThread: thread, owners)
            }
            return wayToAll(session, owners)
        case .unwatch: return session.links?.open.isEmpty == false ? .several : .here
        case .doneThenTake where session.isLink: return try doneWay(command, session, owners)
        case .doneThenTake:
            let way = try doneWay(command, session, owners)
            switch way {
            case .here, .node: return session.isForOne ? way : .several
            case .several, .none, .unknown: return way
            }
        // Also if there is no other node: each row tells its node, and one may join while a TAKE
        // waits.
        case .all(.threads), .take: return session.isForOne ? .here : .several
        case .all: return wayToAll(session, owners)
        }
    }

    /// The way of a command about the jobs or schedules of all threads.
    ///
    /// A thread without an owner would be left out: a node has died, or the thread is on its way.
    private func wayToAll(_ session: Session, _ owners: any ThreadOwners) -> CommandWay {
        if session.conversation == nil,
            let ownerless = owners.known.names.filter({ owners.owner(of: $0) == .nobody }).min()
        {
            let shown = PoolSlot.shown(ownerless)
            return .none(.owner(of: ownerless), "no node has the thread \(shown)")
        }
        return session.isAlone(owners) ? .here : .several
    }

    private func doneWay(
        _ command: Command, _ session: Session, _ owners: any ThreadOwners
    ) throws(WireError) -> CommandWay {
        guard let id = JobID(bytes: command[1]) else { return .here }
        return try way(toJobs: [id], session, owners)
    }

    /// The way of a command that names a spread pool.
    private func way(
        of command: Command, to target: CommandTarget, inPool pool: String, _ session: Session,
        _ owners: any ThreadOwners
    ) -> CommandWay {
        switch target {
        case .submit:
            guard let slot = slot(for: command, ofPool: pool, session, owners) else {
                return .none(.owner(of: pool), "no node has a slot of \(pool)")
            }
            return way(toThread: slot, owners)
        case .slots: return session.isLink ? .here : .several
        case .pool where session.isLink: return .here
        case .pool:
            // A node that serves the pool may be missing for a moment.
            if let slot = ownerlessSlot(of: pool, owners) {
                return .none(.owner(of: slot), "a slot of \(pool) has no node")
            }
            return owners.others.isEmpty ? .here : .several
        default: return isElsewhere(pool) ? way(toThread: pool, owners) : .here
        }
    }

    private func way(toThread name: String, _ owners: any ThreadOwners) -> CommandWay {
        let isKnown = (try? driver.group(of: name)) != nil || isElsewhere(name)
        let group = PoolSlot.stored(ThreadGroup.name(of: name))
        switch owners.owner(of: group) {
        case .here: return .here
        case .node(let node): return .node(node, of: group)
        // An unknown thread is refused when the command is executed.
        case .nobody where !isKnown: return .here
        case .nobody:
            return .none(.owner(of: group), "no node has the thread \(PoolSlot.shown(group))")
        }
    }

    /// Refuses to change a job whose thread is in no node's configuration.
    private func checkThread(
        of command: Command, _ id: JobID, _ session: Session
    ) throws(WireError) {
        guard ["cancel", "drop", "retry"].contains(command.text(at: 0).lowercased()),
            case .thread(let thread)? = try session.links?.thread(of: id),
            (try? driver.group(of: thread)) == nil
        else { return }
        throw WireError(
            .noThread,
            "job \(id) is of the thread \(quoted(thread)), which no node has: it stays as it is")
    }

    /// The way to jobs.
    ///
    /// A command of another node goes to several only if they were just given the jobs' threads.
    private func way(
        toJobs ids: [JobID], _ session: Session, _ owners: any ThreadOwners
    ) throws(WireError) -> CommandWay {
        var (first, unknown): (CommandWay?, [JobID]) = (nil, [])
        var (isMixed, isWrong) = (false, false)
        for id in ids {
            guard let way = try way(toJob: id, session, owners) else {
                unknown.append(id)
                continue
            }
            if case .none = way { return way }
            if let first, !first.isSame(as: way) { isMixed = true }
            first = first ?? way
            if case .node(_, let unit) = way, session.isLink, !owners.hasJustGiven(unit) {
                isWrong = true
            }
        }
        if !unknown.isEmpty { return .unknown(unknown) }
        guard isMixed else { return first ?? .here }
        return isWrong
            ? .none(.threads, "node \(nodeName) does not have the threads of all these jobs")
            : .several
    }

    /// The way to a job; nil if the store has to be asked for its thread.
    private func way(
        toJob id: JobID, _ session: Session, _ owners: any ThreadOwners
    ) throws(WireError) -> CommandWay? {
        if driver.input({ $0.isInMemory(id) }) {
            // One that has ended may have left with its thread; volatile ones are known here alone.
            guard driver.scheduler.book.active(id) == nil, driver.store.isKeeping,
                let job = driver.scheduler.book.job(id), !job.details.isVolatile,
                case .node(let node) = owner(ofThread: job.slot)
            else { return .here }
            return .node(node, of: ThreadGroup.name(of: job.slot))
        }
        switch try session.links?.thread(of: id) {
        case .thread(let name): return way(toThread: name, owners)
        case .nowhere: return .here
        case .unknown, nil: return nil
        }
    }

    // MARK: - Passing on

    private func pass(
        _ command: Command, _ found: CommandSpecification, to node: StoreNode, of unit: String,
        _ session: Session, _ owners: any ThreadOwners
    ) throws(WireError) {
        if session.conversation != nil { return try redirect(session, to: node) }
        let links = links(of: session)
        let isOnward = session.isLink && owners.hasJustGiven(unit)
        guard let link = try way(to: node, command, session, isOnward: isOnward) else { return }
        links.noteWayFound()
        let isLogged = found.access.mayBeLogged
        if isLogged { noteOperation(command, found, session) }
        let takesJobs = found.name == "take" || found.name == "done" && command.count > 4
        if takesJobs { link.hasJobs = true }
        if found.name == "observe" { link.hasWatches = true }
        let slot = session.reserve()
        links.send(
            command, over: link,
            for: isLogged
                ? .part(slot, isTimed: false) { [unowned session] in session.fill(slot, with: $0) }
                : .answer(slot, mayWait: command.mayWait))
    }

    /// The open link to a node; holds the command if there is none.
    ///
    /// - Parameter isOnward: whether a command of another node goes on to the new owner of a thread
    ///   that this node has just given away: the other node did not know.
    func way(
        to node: StoreNode, _ command: Command, _ session: Session, isOnward: Bool = false,
        for patience: Duration = SessionLinks.patience
    ) throws(WireError) -> NodeLink? {
        let links = links(of: session)
        if session.isLink, !isOnward {
            // The nodes do not agree: each may have heard of a change first.
            try links.hold(
                command, for: .node(node.id),
                because: "node \(node.name) has the thread, not \(nodeName)")
            return nil
        }
        switch try links.way(to: node) {
        case .open(let link): return link
        case .none(let reason):
            try links.hold(
                command, for: .node(node.id),
                because: "node \(node.name) is not reached: \(reason)", patience: patience)
            return nil
        }
    }

    /// The open links to other nodes, as far as the client's command needs them; nil if one has
    /// to be waited for.
    private func allLinks(
        _ command: Command, _ session: Session, to nodes: [StoreNode]
    ) throws(WireError) -> [NodeLink]? {
        let (found, missing) = try openLinks(of: session, to: nodes)
        guard let missing else {
            links(of: session).noteWayFound()
            return found
        }
        _ = try way(to: missing, command, session, for: NodeLink.partPatience)
        return nil
    }

    /// The open links to other nodes, and the first node without one: that is connected to.
    func openLinks(
        of session: Session, to nodes: [StoreNode]
    ) throws(WireError) -> (found: [NodeLink], missing: StoreNode?) {
        var (found, missing): ([NodeLink], StoreNode?) = ([], nil)
        for node in nodes.sorted(by: { $0.id < $1.id }) {
            if case .open(let link) = try links(of: session).way(to: node) {
                found.append(link)
            } else {
                missing = missing ?? node
            }
        }
        return (found, missing)
    }

    /// Executes a command here, whose answer is a part of another one.
    ///
    /// - Parameter take: gets the answer, now or later; never once the client has left.
    func executeHere(
        _ command: Command, _ session: Session, for slot: ReplyToken,
        _ take: @escaping (RESPValue) -> Void
    ) {
        session.asPart(of: slot, take) {
            do {
                let found = try commands.find(command, for: session)
                return try found.execute(self, session, command)
            } catch {
                return WireError(error).reply
            }
        }
    }

    // MARK: - Several nodes

    private func passToSeveral(
        _ command: Command, _ found: CommandSpecification, _ target: CommandTarget,
        _ session: Session, _ owners: any ThreadOwners
    ) throws(WireError) {
        switch target {
        case .all(let merge):
            let nodes = nodes(for: command, merge, session, owners)
            guard let links = try allLinks(command, session, to: nodes) else { return }
            if found.access.mayBeLogged { noteOperation(command, found, session) }
            guard case .threads = merge else {
                let pool = pool(of: command, merge, session)
                AllNodesAnswer(command, merge, pool: pool, session, self, owners).ask(links)
                return
            }
            gather([(nil, command)] + links.map { ($0, command) }, session) {
                [unowned self, unowned session] in
                merge.merge($0, of: links.map(\.node), command, self, session.user)
            }
        case .unwatch:
            let links = session.links?.open.filter(\.hasWatches) ?? []
            gather([(nil, command)] + links.map { ($0, command) }, session, RESPValue.sum(of:))
        case .watch: try watch(command, session, owners)
        case .take(let start):
            try WorkerCommands.checkTake(
                in: command, from: start + 1, to: command.count, self, session)
            guard try allLinks(command, session, to: owners.others) != nil else { return }
            let round = TakeRound(session.reserve(), session, self, owners.others)
            round.begin(command, links(of: session))
        case .doneThenTake: try doneThenTake(command, session, owners)
        case .slots(let place, let merge):
            let pool = command.text(at: place)
            guard
                let parts = try slotParts(of: command, at: place, pool: pool, session, owners)
            else { return }
            links(of: session).noteWayFound()
            if found.access.mayBeLogged { noteOperation(command, found, session) }
            gather(parts, session) { [unowned self, unowned session] in
                merge.merge($0, of: [], command, self, session.user)
            }
        case .pool(let place, let merge):
            let pool = command.text(at: place)
            guard let links = try allLinks(command, session, to: others(serving: pool, owners))
            else { return }
            if found.access.mayBeLogged { noteOperation(command, found, session) }
            let own: [(NodeLink?, Command)] = isElsewhere(pool) ? [] : [(nil, command)]
            gather(own + links.map { ($0, command) }, session) {
                [unowned self, unowned session] in
                merge.merge($0, of: links.map(\.node), command, self, session.user)
            }
        case .here, .thread, .submit, .job: break
        }
    }

    /// The other nodes that get a command for all nodes.
    ///
    /// A command that lists the jobs of a pool goes to the nodes that serve the pool.
    func nodes(
        for command: Command, _ merge: NodeMerge, _ session: Session, _ owners: any ThreadOwners
    ) -> [StoreNode] {
        pool(of: command, merge, session).map { others(serving: $0, owners) } ?? owners.others
    }

    /// The pool whose jobs a command lists; nil if it is about all threads.
    private func pool(of command: Command, _ merge: NodeMerge, _ session: Session) -> String? {
        switch merge {
        case .jobs, .failures:
            (try? JobsArguments(command, self, session.user))?.conditions.thread
        default: nil
        }
    }

    private func others(serving pool: String, _ owners: any ThreadOwners) -> [StoreNode] {
        owners.others.filter { $0.threads.contains(pool) }
    }

    /// Has several nodes execute a command, and answers with one value.
    private func gather(
        _ parts: [(link: NodeLink?, command: Command)], _ session: Session,
        _ merge: @escaping ([RESPValue]) -> RESPValue
    ) {
        let slot = session.reserve()
        let gathered = GatheredAnswer(partCount: parts.count) { [unowned session] in
            session.fill(slot, with: merge($0))
        }
        for (place, part) in parts.enumerated() {
            guard let link = part.link else {
                executeHere(part.command, session, for: slot) { gathered.add($0, at: place) }
                continue
            }
            links(of: session).sendPart(part.command, over: link, of: slot) {
                gathered.add($0, at: place)
            }
        }
    }

    /// Watches jobs of several nodes: each gets the numbers of its own.
    private func watch(
        _ command: Command, _ session: Session, _ owners: any ThreadOwners
    ) throws(WireError) {
        let (jobs, withOutput) = try WatchCommands.watchedJobs(command)
        let ids = jobs.sorted { $0.number < $1.number }
        var (own, byNode): ([JobID], [Int64: (link: NodeLink, ids: [JobID])]) = ([], [:])
        for id in ids {
            guard case .node(let node, _)? = try way(toJob: id, session, owners) else {
                own.append(id)
                continue
            }
            if byNode[node.id] == nil {
                guard case .open(let link) = try links(of: session).way(to: node) else {
                    _ = try way(to: node, command, session)
                    return
                }
                byNode[node.id] = (link, [])
            }
            byNode[node.id]?.ids.append(id)
        }
        links(of: session).noteWayFound()
        let rest = withOutput ? [Array("OUTPUT".utf8)] : []
        let round = WatchRound(
            of: own, and: byNode.values.map { $0 }, session, self
        ) { ids in
            Command([command.bytes(at: 0)] + ids.map { Array("\($0.number)".utf8) } + rest)
        }
        round.begin()
    }

    /// Ends a job where it is; then asks all nodes for the next one.
    private func doneThenTake(
        _ command: Command, _ session: Session, _ owners: any ThreadOwners
    ) throws(WireError) {
        // Nothing ends with a wrong TAKE.
        try WorkerCommands.checkTake(in: command, from: 5, to: command.count - 1, self, session)
        let way = try doneWay(command, session, owners)
        guard try allLinks(command, session, to: owners.others) != nil else { return }
        let last = command.count - 1
        let done = Command([0, 1, 2, last].map { command.bytes(at: $0) })
        let take = Command((4..<last).map { command.bytes(at: $0) })
        let links = links(of: session)
        let slot = session.reserve()
        let goOn = { [unowned self, unowned session, unowned links] (value: RESPValue) in
            guard value.errorWord == nil else { return session.fill(slot, with: value) }
            // Another node may have joined while the end was being kept.
            TakeRound(slot, session, self, owners.others, isAfterEnd: true).begin(take, links)
        }
        if case .node(let node, _) = way, case .open(let link) = try links.way(to: node) {
            links.send(done, over: link, for: .part(slot, isTimed: false, take: goOn))
        } else {
            executeHere(done, session, for: slot, goOn)
        }
    }
}

extension CommandWay {
    fileprivate var node: StoreNode? { if case .node(let node, _) = self { node } else { nil } }

    /// Whether it leads to the same node.
    fileprivate func isSame(as other: CommandWay) -> Bool {
        switch (self, other) {
        case (.here, .here): true
        case (.node(let node, _), .node(let other, _)): node.id == other.id
        default: false
        }
    }
}
