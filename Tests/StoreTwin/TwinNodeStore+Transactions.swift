// The transactions of a daemon that shares a database: sent, done by the server, heard of; or lost,
// and decided when the daemon is connected again.

package import Jobs

extension TwinNodeStore {
    // MARK: - Sending

    /// Sends what is pending, as far as one transaction may hold it; one is on its way at a time.
    ///
    /// - Parameters:
    ///   - arrives: whether the server gets it.
    ///   - beats: whether an empty one is sent as a sign of life.
    package func dispatch(arrives: Bool, beats: Bool = false) {
        guard sent == nil, !isLost else { return }
        takeLastingBeginnings()
        guard !pending.isEmpty || !refused.isEmpty || beats else { return }
        var part = pending
        if let first = pending.first {
            part = Array(pending.prefix { $0.isLasting == first.isLasting })
        }
        pending.removeFirst(part.count)
        guard let session, !arrives || database.hear(session) else {
            self.session = nil
            return refuse(part, fault(.away))
        }
        sent = Sent(
            number: batch + 1, session: session, commands: part, drops: refused, at: database.now,
            hasArrived: arrives)
    }

    /// A transaction that the network has kept back arrives, if the session is still there.
    package func arrive() {
        guard let waiting = sent, database.hear(waiting.session) else { return }
        sent?.hasArrived = true
    }

    /// The server does the transaction that was sent, or refuses it.
    ///
    /// - Parameter isFull: whether it has no room.
    package func execute(isFull: Bool = false) {
        guard let sent, sent.hasArrived, sent.outcome == nil, database.isThere(sent.session)
        else { return }
        guard database.seats[seat]?.epoch == epoch else {
            self.sent?.outcome = .refused(fault(.lost))
            return
        }
        if isFull, !sent.commands.isEmpty {
            self.sent?.outcome = .refused(fault(.full))
            return
        }
        var book = database.book
        var done = Committed(commands: commands, share: share)
        for new in sent.drops { book.forget(new.job.id) }
        for command in sent.commands { done.answers += apply(command, &book, &done) }
        database.book = book
        database.seats[seat]?.batch = sent.number
        self.sent?.outcome = .committed(done)
        database.whenCommitted(sent.commands, seat)
    }

    /// The answer of the server comes, if it has answered.
    package func hear() {
        guard let sent, let outcome = sent.outcome, database.isThere(sent.session) else { return }
        self.sent = nil
        switch outcome {
        case .committed(let done):
            noteTrust(from: sent.at)
            commit(sent, done)
        case .refused(let fault):
            if fault.kind == .lost { return lose() }
            if sent.isRefused {
                pending = sent.commands.filter(\.isRecord) + pending
            } else {
                refuse(sent.commands, fault)
            }
        }
    }

    private func commit(_ sent: Sent, _ done: Committed) {
        batch = sent.number
        let before = commands.brought
        commands = done.commands
        share = done.share
        for case .load(let queue, _, _) in sent.commands where sent.isRefused {
            commands.brought[queue] = before[queue]
        }
        refused = []
        for command in sent.commands {
            guard case .retry(let id, _, _) = command else {
                if case .putBack(let id, _, _, _) = command { noteRecorded(id) }
                continue
            }
            noteRecorded(id)
        }
        guard !sent.isRefused else {
            refused = sent.commands.flatMap { command -> [NewJob] in
                switch command {
                case .accept(let new), .acceptOnce(let new, _): [new]
                case .run(let runs): runs.map(\.new)
                default: []
                }
            }
            // Its requests were answered.
            return
        }
        if !done.answers.isEmpty { send?(done.answers) }
        browse(sent.commands)
    }

    private func noteRecorded(_ id: JobID) {
        let left = (uncommitted[id.number] ?? 0) - 1
        uncommitted[id.number] = left > 0 ? left : nil
    }

    /// Answers questions, which see all of the transaction.
    private func browse(_ asked: [StoreCommand]) {
        for command in asked {
            var answers = commands.browse(command, database.book, at: wall)
            if case .findExpired(let moment, let place, let limit, let ticket) = command {
                let found = database.book.expiring(at: moment, after: place, limit: limit) {
                    share.includes($0.slot)
                }
                answers = [.expiring(ticket: ticket, .success(found))]
            }
            if !answers.isEmpty { send?(answers) }
        }
    }

    // MARK: - Refusals

    /// Refuses the requests of a transaction; what has happened is told again with the next one.
    private func refuse(_ commands: [StoreCommand], _ fault: StoreFault) {
        pending = commands.filter(\.isRecord) + pending
        answer(commands, fault)
    }

    private func answer(_ refused: [StoreCommand], _ fault: StoreFault) {
        var (book, scratch) = (database.book, commands)
        var answers: [StoreAnswer] = []
        for command in refused {
            switch command {
            case .load where fault.kind != .away && self.refused.isEmpty:
                // It is read behind the transaction.
                var kept = database.book
                answers += commands.answer(command, nil, &kept, at: wall)
                scratch.brought = commands.brought
            case .claim(let queues, let ticket) where database.fault == .claimsUnconfirmed:
                var done = Committed(commands: commands, share: share)
                answers.append(claim(queues, ticket, &book, &done))
                (commands, share) = (done.commands, done.share)
            default: answers += scratch.answer(command, fault, &book, at: wall)
            }
        }
        if !answers.isEmpty { send?(answers) }
        for command in refused {
            let failed = Self.failure(of: command, fault)
            if let failed { send?([failed]) }
        }
    }

    private static func failure(of command: StoreCommand, _ fault: StoreFault) -> StoreAnswer? {
        switch command {
        case .find(_, let ticket): .found(ticket: ticket, .failure(fault))
        case .findPayload(_, let ticket): .payload(ticket: ticket, .failure(fault))
        case .findNamed(_, let ticket): .named(ticket: ticket, .failure(fault))
        case .findExpired(_, _, _, let ticket): .expiring(ticket: ticket, .failure(fault))
        case .list(_, let ticket): .listed(ticket: ticket, .failure(fault))
        default: nil
        }
    }

    /// Refuses requests that have waited for long enough.
    package func refuseLate() {
        guard var waiting = sent, database.now - waiting.at >= Self.patience else { return }
        let late = fault(.away)
        if !waiting.isRefused {
            // Others change more than new rows: their commands wait until it is decided.
            if !waiting.commands.contains(where: \.isLasting) {
                waiting.isRefused = true
                sent = waiting
                answer(waiting.commands, late)
            }
        }
        let commands = pending
        pending = commands.filter(\.isRecord)
        answer(commands, late)
    }

    private func lose() {
        isLost = true
        if let session { database.end(session) }
        session = nil
    }

    private func fault(_ kind: StoreFault.Kind) -> StoreFault {
        StoreFault(kind, path: "twin", detail: "as wished")
    }

    // MARK: - Connections

    /// Whether its session is over, as it finds out when it sends or hears something.
    package var hasLostSession: Bool { session.map { !database.isThere($0) } ?? true }

    /// Connects anew, takes the lock of its seat, and finds out what became of the last
    /// transaction.
    package func reconnect() {
        guard !isLost else { return }
        if let session { database.end(session) }
        session = database.connect(node, to: seat)
        guard database.seats[seat]?.epoch == epoch else { return lose() }
        guard let waiting = sent else { return }
        sent = nil
        if database.seats[seat]?.batch == waiting.number,
            case .committed(let done)? = waiting.outcome
        {
            return commit(waiting, done)
        }
        let commands =
            waiting.isRefused ? waiting.commands.filter(\.isRecord) : waiting.commands
        pending = commands + pending
    }

    /// All daemons, as the server shows them now; nil if it can't be asked.
    package func look() -> StoreNodes? {
        guard let session, database.hear(session) else { return nil }
        var nodes = database.nodes()
        nodes.places?.session = session
        return nodes
    }

    /// Asks for slots of these pools, over sessions to come as well.
    package func show(_ wanted: [String]) {
        node.wanted = wanted
        if let session { database.show(wanted, of: session) }
    }

    /// Gives all threads back, and leaves: everything is written.
    package func leave() {
        database.giveBack(seat)
        if let session { database.end(session) }
        session = nil
    }

    // MARK: - Within a transaction

    /// Does a command.
    private func apply(
        _ command: StoreCommand, _ book: inout TwinBook, _ done: inout Committed
    ) -> [StoreAnswer] {
        switch command {
        case .claim(let queues, let ticket):
            return [claim(queues, ticket, &book, &done)]
        case .move(let moves, _):
            for move in moves
            where move.from <= 1 || move.from == seat || move.session == session
                || database.fault == .takesUnseen
            {
                if database.move(move, by: seat) { done.share.names.remove(move.thread) }
            }
        case .cancel(let id, _, let ticket):
            if let job = book.job(id), !done.share.includes(job.slot) {
                return [.cancelled(ticket: ticket, .success([:]))]
            }
        case .reserve: return []
        case .run(let runs) where database.fault == .runsAnywhere:
            let runs = runs.map { made in
                let thread = book.thread(ofSchedule: made.run.name) ?? made.run.thread
                let run = ScheduleRun(
                    name: made.run.name, thread: thread, through: made.run.through,
                    at: made.run.at)
                return MadeRun(run: run, new: made.new, claim: made.claim)
            }
            return done.commands.answer(.run(runs), nil, &book, at: wall)
        default: break
        }
        return done.commands.answer(command, nil, &book, at: wall)
    }

    private func claim(
        _ queues: [QueueName], _ ticket: UInt64, _ book: inout TwinBook, _ done: inout Committed
    ) -> StoreAnswer {
        guard let thread = queues.first?.thread else { preconditionFailure("no queue") }
        let group = ThreadGroup.name(of: thread)
        guard let place = database.threads[group], place.seat == seat else {
            return .claimed(ticket: ticket, .failure(fault(.foreignThread)))
        }
        done.share.names.insert(group)
        var taken = TakenJobs(of: thread)
        if place.moved != .not {
            done.share.held += book.recover(
                group, mayHaveBegun: place.moved == .takenOver, windowCountMax: windowCountMax,
                at: wall, database.fault)
            if database.fault != .claimsUnconfirmed { database.threads[group]?.moved = .not }
            done.share.firstNumber = database.takeNumbers(present: done.share.firstNumber)
            taken.nextNumber = done.share.firstNumber
        }
        taken.counts = book.counts(of: thread)
        taken.held = done.share.held.filter { $0.job.slot == thread }
        done.share.held.removeAll { $0.job.slot == thread }
        let share = done.share
        taken.nextExpiry =
            book.liveJobs.filter { share.includes($0.slot) }.compactMap(\.expiresAt).min()
        taken.schedules = book.schedules.values.filter {
            $0.definition.request.thread == thread
        }
        taken.isPaused = book.isPaused(PoolSlot.shown(thread)) && database.fault != .forgetsPauses
        let blockers = book.liveJobs.filter { queues.contains($0.queue) && $0.isBlocker }
            .sorted { TwinBook.place($0) < TwinBook.place($1) }
        return .claimed(
            ticket: ticket, .success(ClaimedJobs(blockers: blockers, taken: taken)))
    }
}

extension StoreCommand {
    /// Whether it is a request that changes more than new rows.
    fileprivate var isLasting: Bool {
        switch self {
        case .settle, .fire, .cancel, .cancelPart, .keepSchedule, .dropSchedule, .keepDue: true
        case .claim, .move: true
        default: false
        }
    }
}

extension TwinBook {
    package func isPaused(_ thread: String) -> Bool { paused.contains(thread) }

    /// Drops a job as if it was never accepted.
    mutating func forget(_ id: JobID) {
        jobs[id] = nil
        names = names.filter { $0.value.id != id }
    }
}
