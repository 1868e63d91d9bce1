// A command for all threads, such as RETRY ALL, and its answer. A thread may be on its way from one
// node to another one: then neither has it, or both have.
//
//     which threads has each node? ──▶ the command ──▶ which threads has each node? ──▶ the answer
//        └── not each thread once: ask again     └── others than before: ask again
//
// A node tells its threads as one number, and those of all nodes add up to that of all threads.

internal import Jobs
internal import RESP
internal import RunLoops

/// The answer of all nodes to one command, in which each thread counts once.
///
/// The client's next command waits for it: a later try would come behind that.
///
/// Confined to its session's loop.
final class AllNodesAnswer {
    /// The pause before the nodes are asked again.
    private static let pause = Duration.milliseconds(50)

    private let command: Command
    private let merge: NodeMerge
    /// The pool that the command is about; nil for all threads.
    private let pool: String?
    private let slot: ReplyToken
    private unowned let session: Session
    private unowned let service: Service
    private let owners: any ThreadOwners
    /// When the nodes are asked no more; nil before the first try has failed.
    ///
    /// Earlier commands of the client may hold up the first try for long.
    private var end: Instant?
    /// The sum of what earlier tries have done.
    private var doneCount = 0

    init(
        _ command: Command, _ merge: NodeMerge, pool: String?, _ session: Session,
        _ service: Service, _ owners: any ThreadOwners
    ) {
        self.command = command
        self.merge = merge
        self.pool = pool
        self.session = session
        self.service = service
        self.owners = owners
        slot = session.reserve()
        session.pauses.insert(.allNodes)
    }

    // MARK: - One try

    /// Asks this node and those of the links.
    func ask(_ links: [NodeLink]) {
        askForSums(links) { [self] before in
            guard isWhole(before) else { return tryLater() }
            gather(command, links) { [self] parts in
                askForSums(links) { [self] after in
                    finish(parts, links, isWhole: after == before)
                }
            }
        }
    }

    /// Asks which threads each node has.
    ///
    /// - Parameter whenAll: called with the sum of each; null of a node whose version tells none.
    private func askForSums(_ links: [NodeLink], whenAll: @escaping ([RESPValue]) -> Void) {
        let gathered = gathering(links, whenAll)
        gathered.add(.integer(owners.servedSum(of: pool)), at: 0)
        let question = LinkCommands.sum(of: pool)
        for (index, link) in links.enumerated() {
            service.links(of: session).sendPart(question, over: link, of: slot) { sum in
                let isLate = sum.errorWord == WireError.Word.busy.rawValue
                gathered.add(isLate || sum.integer != nil ? sum : .null, at: index + 1)
            }
        }
    }

    private func gather(
        _ command: Command, _ links: [NodeLink], whenAll: @escaping ([RESPValue]) -> Void
    ) {
        let gathered = gathering(links, whenAll)
        service.executeHere(command, session, for: slot) { gathered.add($0, at: 0) }
        for (index, link) in links.enumerated() {
            service.links(of: session).sendPart(command, over: link, of: slot) {
                gathered.add($0, at: index + 1)
            }
        }
    }

    /// The answers of this node and of others; an error of one is the client's answer.
    private func gathering(
        _ links: [NodeLink], _ whenAll: @escaping ([RESPValue]) -> Void
    ) -> GatheredAnswer {
        GatheredAnswer(partCount: links.count + 1) { [self] parts in
            if let error = parts.first, error.errorWord != nil { return answer(error) }
            whenAll(parts)
        }
    }

    /// Whether each thread is of one node, as far as all tell it.
    private func isWhole(_ sums: [RESPValue]) -> Bool {
        let known = sums.compactMap(\.integer)
        return known.count < sums.count || known.reduce(0, &+) == owners.knownSum(of: pool)
    }

    private func finish(_ parts: [RESPValue], _ links: [NodeLink], isWhole: Bool) {
        let merged = merge.merge(parts, of: links.map(\.node), command, service, session.user)
        guard let count = merged.integer else { return isWhole ? answer(merged) : tryLater() }
        doneCount += count
        if isWhole { answer(.integer(doneCount)) } else { tryLater() }
    }

    private func answer(_ value: RESPValue) {
        session.fill(slot, with: value)
        session.pauses.remove(.allNodes)
        // Not within the command: there may have been no node to wait for.
        let session = Confined(session, to: session.loop)
        service.loop.perform { if session.value.isOpen { session.value.goOn() } }
    }

    // MARK: - The next try

    private func tryLater() {
        let now = session.loop.now
        let end = end ?? now.advanced(by: SessionLinks.patience)
        self.end = end
        guard now < end else {
            let done = doneCount > 0 ? "; \(doneCount) are done" : ""
            return answer(
                WireError(
                    .busy, "a thread is on its way from one node to another\(done); try again"
                ).reply)
        }
        let box = Confined((self, session), to: session.loop)
        _ = session.loop.schedule(after: Self.pause) {
            let (answer, session) = box.value
            if session.isOpen { answer.tryAgain() }
        }
    }

    private func tryAgain() {
        do throws(WireError) {
            let nodes = service.nodes(for: command, merge, session, owners)
            let (links, missing) = try service.openLinks(of: session, to: nodes)
            if missing == nil { ask(links) } else { tryLater() }
        } catch {
            answer(error.reply)
        }
    }
}

extension ThreadOwners {
    /// The sum of the threads that this node serves, or of the slots of a pool among them.
    func servedSum(of pool: String?) -> Int { open.sum(of: pool) }

    /// The sum of all threads, or of all slots of a pool.
    fileprivate func knownSum(of pool: String?) -> Int { known.names.sum(of: pool) }
}

extension Set<String> {
    fileprivate func sum(of pool: String?) -> Int {
        guard let pool else { return ThreadSum.of(self) }
        return ThreadSum.of(lazy.filter { PoolSlot.shown($0) == pool })
    }
}
