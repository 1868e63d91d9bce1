// A TAKE that waits at all nodes at a time. The first job is the worker's; the others' TAKEs are
// ended, and a job that one of them has given meanwhile goes back: its attempt does not count.

internal import Jobs
internal import RESP

/// A TAKE at several nodes.
///
/// Confined to its session's loop.
final class TakeRound {
    private let slot: ReplyToken
    private unowned let session: Session
    private unowned let service: Service
    private let nodes: Set<Int64>
    /// The nodes that were asked.
    private var asked: Set<Int64> = []
    private let isAfterEnd: Bool
    /// The worker's user: the connection may have another one when a job is to go back.
    private let user: User
    /// The links whose TAKEs wait, by the numbers of their nodes.
    private var waiting: [Int64: NodeLink] = [:]
    private var waitsHere = true
    private var isAnswered = false
    private var isEnding = false
    private var isOver = false
    /// The answer if there is no job.
    private var answer = RESPValue.null

    /// - Parameters:
    ///   - nodes: the other nodes that work.
    ///   - isAfterEnd: whether the end of the worker's last job is kept.
    init(
        _ slot: ReplyToken, _ session: Session, _ service: Service, _ nodes: [StoreNode],
        isAfterEnd: Bool = false
    ) {
        self.slot = slot
        self.session = session
        self.service = service
        self.nodes = Set(nodes.map(\.id))
        self.isAfterEnd = isAfterEnd
        user = session.user
    }

    /// Whether a node was asked for a job.
    func hasAsked(_ node: StoreNode) -> Bool { asked.contains(node.id) }

    /// Asks this node and those of the links.
    func begin(_ take: Command, _ links: SessionLinks) {
        links.round = self
        for link in links.open {
            asked.insert(link.node.id)
            waiting[link.node.id] = link
            links.send(
                take, over: link,
                for: .part(slot, isTimed: false) { [self] value in
                    waiting[link.node.id] = nil
                    answered(value, by: link)
                })
        }
        service.executeHere(take, session, for: slot) { [self] value in
            waitsHere = false
            answered(value, by: nil)
        }
        // A link may have ended while the end of the worker's last job was being kept.
        if !nodes.isSubset(of: asked) { end() }
    }

    /// Ends the TAKEs that wait.
    func end() {
        guard !isEnding else { return }
        isEnding = true
        for link in waiting.values { link.unblock(for: slot) }
        if waitsHere { _ = service.driver.exchange.unblock(session.number, withError: false) }
    }

    private func answered(_ value: RESPValue, by link: NodeLink?) {
        if value.elements != nil {
            if isAnswered {
                giveBack(value, to: link)
            } else {
                isAnswered = true
                link?.hasJobs = true
                noteThread(of: value)
                session.fill(slot, with: value)
            }
            end()
        } else if link == nil || value.errorWord == WireError.Word.inUse.rawValue {
            // The time is over, or an operator has ended it, or it is a wrong TAKE; or at one of
            // the nodes, another worker has its name.
            if !isEnding {
                answer = isAfterEnd ? WorkerExchange.answerAfterEnd(value) : value
            }
            end()
        }
        // The end of this node's TAKE may have been the last one, and have come meanwhile.
        guard waiting.isEmpty, !waitsHere, !isOver else { return }
        isOver = true
        if session.links?.round === self { session.links?.round = nil }
        if !isAnswered { session.fill(slot, with: answer) }
    }

    /// The worker will ask for the job by its number.
    private func noteThread(of value: RESPValue) {
        guard let job = value.elements?.prefix(3), let id = job.first?.integer, id > 0,
            let thread = job.last?.text, !service.isOfSpreadPool(thread)
        else { return }
        session.links?.note(thread, of: JobID(UInt64(id)))
    }

    private func giveBack(_ value: RESPValue, to link: NodeLink?) {
        guard let job = value.elements?.prefix(2), let id = job.first?.integer,
            let token = job.last?.bytes
        else { return }
        let words = ["GIVEBACK", "\(id)"].map { Array($0.utf8) }
        let command = Command(words + [token])
        if let link {
            link.send(command, as: user.name, for: .part(slot, isTimed: false) { _ in })
        } else {
            let present = session.user
            session.renew(user, atDoor: session.doorUser)
            service.executeHere(command, session, for: slot) { _ in }
            session.renew(present, atDoor: session.doorUser)
        }
    }
}
