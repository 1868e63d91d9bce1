// The service's knowledge of the other nodes: the threads that they have, and the owner of each.

internal import Jobs
internal import RESP
internal import RunLoops

extension Service {
    /// The name of this node.
    var nodeName: String { configuration.nodeCard.name }

    /// Hears of changes from now on.
    func followOwners() {
        owners?.whenWishChanged = { [unowned self] in showCard() }
        // Also if no owner has changed: a client's question may have waited since before.
        owners?.whenLooked = { [unowned self] in leaveClients() }
        owners?.whenChanged = { [unowned self] in
            guard let owners else { return }
            recentOwnThread = []
            let nodes = owners.others
            let missing = owners.missing
            for session in Array(sessions.values) {
                session.links?.ownersChanged(nodes, missing: missing)
            }
            driver.live?.touched()
            linkWatch?.nodesChanged(nodes)
        }
    }

    /// Leaves the clients that wait for jobs of threads which another node has now.
    private func leaveClients() {
        let watching = driver.input { scheduler in
            scheduler.leaveClients { thread in
                if case .node? = owner(ofThread: thread) { true } else { false }
            }
        }
        for client in watching {
            sessions[client]?.breakOff("another node has the thread of a watched job now")
        }
    }

    /// Holds a command while a node that has just given a thread away owes its client an answer.
    ///
    /// That node may still pass an earlier command on to the thread: this one would overtake it.
    ///
    /// - Returns: false if it goes its way now.
    func waitsBehindOthers(
        _ command: Command, to node: StoreNode?, _ session: Session, _ owners: any ThreadOwners
    ) throws(WireError) -> Bool {
        guard !owners.recentGivers.isEmpty, let links = session.links else { return false }
        let now = session.loop.now
        for link in links.open where link.owesAnswers && link.node.id != node?.id {
            guard let end = owners.recentGivers[link.node.id], now < end else { continue }
            try links.hold(
                command, for: .node(link.node.id),
                because: "node \(link.node.name) has not answered earlier commands",
                nextTry: end)
            return true
        }
        return false
    }

    /// Has a client wait for the end of a job at the node that has the job's thread now.
    func goOnWaiting(
        for id: JobID, of thread: String, for milliseconds: Int?, _ session: Session,
        _ reply: ReplyToken
    ) {
        let refusal = RESPValue(.moved(id, thread: thread, milliseconds: milliseconds))
        guard case .node(let node)? = owner(ofThread: thread) else {
            return session.fill(reply, with: refusal)
        }
        let limit = milliseconds.map { ["\($0)"] } ?? []
        let words = ["RESULT", "\(id.number)", "WAIT"] + limit
        links(of: session).goOnWaiting(
            by: Command(words.map { Array($0.utf8) }), at: node, for: reply, or: refusal)
    }

    /// The owner of a thread, a pool, its member or slot; nil if this node has all threads.
    func owner(ofThread name: String) -> ThreadOwner? {
        owners?.owner(of: PoolSlot.stored(ThreadGroup.name(of: name)))
    }

    /// Whether commands may name a thread, pool or member.
    ///
    /// They may if a node has it in its configuration, or if this node has jobs of it.
    func isThread(_ name: String) -> Bool {
        !PoolSlot.isOne(name) && (driver.scheduler.isKnown(name) || isElsewhere(name))
    }

    /// Whether another node is configured with a thread, pool, member or slot, and this one is not.
    func isElsewhere(_ name: String) -> Bool {
        let unit = PoolSlot.stored(ThreadGroup.name(of: name))
        return (try? driver.group(of: unit)) == nil && owners?.known.names.contains(unit) == true
    }

    /// The pools that are spread over slots in the configuration of any node.
    var spread: SpreadPools { owners?.known.spread ?? driver.spread }

    /// Whether a thread or pool is one of several nodes.
    func isOfSpreadPool(_ name: String) -> Bool {
        spread.count(of: ThreadGroup.name(of: PoolSlot.shown(name))) > 1
    }
}
