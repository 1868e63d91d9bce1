// OBSERVE of jobs of several nodes: each node watches its own jobs, all of them or none.
//
//     to each other node: which are new? OBSERVE ──▶ OBSERVE here ──▶ the answer, then the pushes
//        └── an error of one ──▶ UNOBSERVE of the new ones at the others ──▶ the error

internal import Jobs
internal import RESP
internal import RunLoops

/// The watching of jobs of several nodes.
///
/// The client's next command waits for it, as UNOBSERVE would end watches of that.
///
/// Confined to its session's loop.
final class WatchRound {
    /// The jobs of another node.
    private struct Part {
        let link: NodeLink
        let ids: [JobID]
        /// The jobs among them that the client does not watch yet.
        var new: [JobID] = []
        var isWatched = false
    }

    private let own: [JobID]
    private var parts: [Part]
    private let slot: ReplyToken
    private unowned let session: Session
    private unowned let service: Service
    private let command: ([JobID]) -> Command

    /// - Parameters:
    ///   - own: the jobs of this node, and the jobs that no node has.
    ///   - command: OBSERVE of some of the jobs.
    init(
        of own: [JobID], and others: [(link: NodeLink, ids: [JobID])], _ session: Session,
        _ service: Service, _ command: @escaping ([JobID]) -> Command
    ) {
        self.own = own
        parts = others.map { Part(link: $0.link, ids: $0.ids) }
        slot = session.reserve()
        self.session = session
        self.service = service
        self.command = command
    }

    private var links: SessionLinks { service.links(of: session) }

    func begin() {
        session.pauses.insert(.allNodes)
        // The answer comes before the first push: those of other nodes wait for it, and this node's
        // begin with the last part.
        links.holdPushes()
        let gathered = GatheredAnswer(partCount: parts.count) { [self] answers in
            if let error = answers.first, error.errorWord != nil { return undo(error) }
            guard !own.isEmpty else { return end(.sum(of: answers)) }
            service.executeHere(command(own), session, for: slot) { [self] answer in
                guard answer.errorWord == nil else { return undo(answer) }
                end(.sum(of: answers + [answer]))
            }
        }
        for (place, part) in parts.enumerated() {
            part.link.hasWatches = true
            send(LinkCommands.unwatched(part.ids), over: part.link) { [self] answer in
                // A node of an earlier version does not tell.
                let numbers = (answer.elements ?? []).compactMap(\.integer)
                parts[place].new = numbers.map { JobID(UInt64(clamping: $0)) }
            }
            send(command(part.ids), over: part.link) { [self] answer in
                parts[place].isWatched = answer.errorWord == nil
                gathered.add(answer, at: place)
            }
        }
    }

    private func send(
        _ command: Command, over link: NodeLink, _ take: @escaping (RESPValue) -> Void
    ) {
        links.send(command, over: link, for: .part(slot, isTimed: false, take: take))
    }

    /// Ends the new watches of the nodes that had no error.
    private func undo(_ error: RESPValue) {
        let added = parts.filter { $0.isWatched && !$0.new.isEmpty }
        guard !added.isEmpty else { return end(error) }
        let ids = added.flatMap(\.new)
        let gathered = GatheredAnswer(partCount: added.count) { [self] _ in
            links.dropEarlyPushes(about: Set(ids.map(\.number)))
            end(error)
        }
        for (place, part) in added.enumerated() {
            let words = ["UNOBSERVE"] + part.new.map { "\($0.number)" }
            send(Command(words.map { Array($0.utf8) }), over: part.link) {
                gathered.add($0, at: place)
            }
        }
    }

    private func end(_ answer: RESPValue) {
        session.fill(slot, with: answer)
        links.releasePushes()
        session.pauses.remove(.allNodes)
        // Not within the command: this node may have answered at once.
        let session = Confined(session, to: session.loop)
        service.loop.perform { if session.value.isOpen { session.value.goOn() } }
    }
}
