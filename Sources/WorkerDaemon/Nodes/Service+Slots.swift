// The ways of commands that name a pool which is spread over slots. A job goes to the owner of its
// slot. A command for all of the pool goes to each slot by a name of that slot alone, so a slot
// that moves meanwhile is neither left out nor counted twice: its command waits for its new owner.

internal import Jobs
internal import RESP

extension Service {
    /// The pool that a command names; nil unless it is spread over slots.
    func spreadPool(of command: Command, at place: Int) -> String? {
        guard !spread.isEmpty else { return nil }
        let name = command.text(at: place)
        return spread.count(of: name) > 1 ? name : nil
    }

    /// The stored name of the slot for a new job or schedule of a spread pool.
    ///
    /// - Returns: nil if any will do, and none has an owner now.
    func slot(
        for command: Command, ofPool pool: String, _ session: Session, _ owners: any ThreadOwners
    ) -> String? {
        if command.matches(0, "SCHEDULE") {
            // Wrong arguments are refused when the command is executed.
            let request = try? ScheduleArguments(command).definition.request
            return spread.place(of: request ?? JobRequest(thread: pool, selector: ""))
        }
        let request =
            command.matches(0, "PERFORM")
            ? (try? PerformArguments(command, driver.wall, &recentNames))?.request : nil
        if let request, request.slotKey != nil { return spread.place(of: request) }
        // Other nodes do not find a volatile job by its number, and HTTP is sent elsewhere.
        let isBound = request?.isVolatile == true || session.isLink || session.conversation != nil
        return slotInTurn(of: pool, staysHere: isBound, owners)
    }

    /// The slot for a job that may go to any: one of this node, as long as its threads have little
    /// to do; else the nodes take turns.
    private func slotInTurn(
        of pool: String, staysHere: Bool, _ owners: any ThreadOwners
    ) -> String? {
        let slots = spread.slots(of: pool)
        let own = slots.first { owners.owner(of: $0) == .here }
        if let own, staysHere || !isBusy(pool) { return own }
        var byNode: [Int64: String] = [:]
        for slot in slots {
            if case .node(let node) = owners.owner(of: slot) { byNode[node.id] = slot }
        }
        let turns = (own.map { [$0] } ?? []) + byNode.sorted { $0.key < $1.key }.map(\.value)
        guard !turns.isEmpty else { return nil }
        slotTurn &+= 1
        return turns[Int(slotTurn % UInt64(turns.count))]
    }

    /// Whether as many jobs wait for a pool as it has threads here.
    private func isBusy(_ pool: String) -> Bool {
        guard let group = try? driver.group(of: pool) else { return false }
        return driver.shownWaitingCount(of: group) >= group.members.count
    }

    /// A command as the log of operations has it: one for a slot, with the pool's name.
    ///
    /// - Returns: nil if the command has come for an earlier slot of this node as well.
    func operation(of command: Command, _ session: Session) -> Command? {
        guard session.isLink, command.count > 1, let owners else { return command }
        let name = command.text(at: 1)
        guard PoolSlot.isOne(name) else { return command }
        let pool = PoolSlot.shown(name)
        let first = spread.slots(of: pool).first { owners.owner(of: $0) == .here }
        return first == PoolSlot.stored(name) ? command.naming(pool, at: 1) : nil
    }

    /// A slot of a pool that no node has.
    func ownerlessSlot(of pool: String, _ owners: any ThreadOwners) -> String? {
        spread.slots(of: pool).first { owners.owner(of: $0) == .nobody }
    }

    /// The parts of a command for all slots of a pool, each with its node's link; nil if the
    /// command has to wait for an owner or a link, and is held.
    func slotParts(
        of command: Command, at place: Int, pool: String, _ session: Session,
        _ owners: any ThreadOwners
    ) throws(WireError) -> [(link: NodeLink?, command: Command)]? {
        var parts: [(link: NodeLink?, command: Command)] = []
        for (slot, alias) in zip(spread.slots(of: pool), spread.aliases(of: pool)) {
            let part = command.naming(alias, at: place)
            switch owners.owner(of: slot) {
            case .here: parts.append((nil, part))
            case .node(let node):
                guard let link = try way(to: node, command, session) else { return nil }
                parts.append((link, part))
            case .nobody:
                try links(of: session).hold(
                    command, for: .owner(of: slot), because: "a slot of \(pool) has no node")
                return nil
            }
        }
        return parts
    }
}

extension Command {
    /// The command with another name in the place of an argument.
    fileprivate func naming(_ name: String, at place: Int) -> Command {
        Command((0..<count).map { $0 == place ? Array(name.utf8) : bytes(at: $0) })
    }
}
