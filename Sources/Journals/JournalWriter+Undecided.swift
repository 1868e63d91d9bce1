// A transaction of which is not known whether it was committed: the database server has not
// answered. The thread goes on and asks several times a second; commands that need a transaction
// wait meanwhile. After a while clients are answered that their jobs were not accepted. If they
// were after all, the next transaction drops these jobs: none of them has begun, as no client and
// no scheduler knows them.

internal import Jobs
internal import RunLoops

extension JournalWriter {
    /// A transaction of which is not known whether it was committed.
    struct Undecided {
        /// Its commands; only the events once its requests were refused.
        var batch: PendingCommands
        /// Their answers, if it was committed.
        var answers: JournalAnswers
        var fault: StoreFault
        /// When clients no longer wait.
        let limit: Instant
        /// The new jobs of its refused requests.
        var refused: [NewJob]?
    }

    /// How long clients wait for a database server that does not answer.
    private static let requestPatience = Duration.seconds(5)
    /// The pause between two looks whether it was committed.
    private static let decisionPause = Duration.milliseconds(100)

    func noteUndecided(
        _ batch: PendingCommands, _ answers: JournalAnswers, because fault: StoreFault
    ) {
        undecided = Undecided(
            batch: batch, answers: answers, fault: fault,
            limit: loop.now.advanced(by: Self.requestPatience))
        decideSoon()
    }

    private func decideSoon() {
        guard decisionTimer == nil else { return }
        let writer = Confined(self, to: loop)
        let due = loop.now.advanced(by: Self.decisionPause)
        let timer = ThreadRunLoop.Timer(at: due) { _ in
            writer.value.decisionTimer = nil
            writer.value.decide()
        }
        decisionTimer = timer
        loop.add(timer)
    }

    func decide() {
        guard let store, let undecided else { return }
        let isCommitted: Bool
        do throws(StoreFault) {
            isCommitted = try store.decide()
        } catch {
            if error.kind == .undecided {
                self.undecided?.fault = error
                refuseLate()
                return decideSoon()
            }
            self.undecided = nil
            undoLoads()
            refuse(undecided.batch, because: error)
            return commit()
        }
        self.undecided = nil
        if isCommitted {
            hasUnsynced = false
            health.noteSuccess(at: wall.unixMilliseconds())
            refused = undecided.refused ?? []
            var answers = undecided.answers
            undecided.batch.forEach { commands, place in finish(commands, place, store, &answers) }
            tell(answers, store)
            hearOfSubmitted(store)
        } else {
            undoLoads()
            pending = PendingCommands(undecided.batch, pending)
        }
        commit()
    }

    /// Refuses the requests of clients that have waited long enough.
    func refuseLate() {
        guard let waiting = undecided, loop.now >= waiting.limit else { return }
        let late = StoreFault(
            .away, path: waiting.fault.path,
            detail: "the database server has not answered for \(Self.requestPatience)")
        if waiting.refused == nil {
            health.noteFailure(waiting.fault, at: wall.unixMilliseconds())
            // Requests that change more than new rows wait until they are decided.
            if waiting.batch.areRefusable { refuse(waiting, because: late) }
        }
        let batch = pending
        pending = PendingCommands(recordsOf: batch)
        answer(batch, as: late)
    }

    /// Refuses the requests of the undecided transaction.
    private func refuse(_ waiting: Undecided, because late: StoreFault) {
        undecided?.refused = waiting.batch.newJobs.filter {
            waiting.answers.existing[$0.job.id] == nil
                && waiting.answers.refused[$0.job.id] == nil
        }
        undecided?.batch = PendingCommands(recordsOf: waiting.batch)
        undoLoads()
        answer(waiting.batch, as: late)
    }

    /// Refuses the requests of a batch, and keeps its events for the next transaction.
    private func refuse(_ batch: PendingCommands, because fault: StoreFault) {
        health.noteFailure(fault, at: wall.unixMilliseconds())
        pending = PendingCommands(PendingCommands(recordsOf: batch), pending)
        answer(batch, as: fault)
    }

    private func answer(_ batch: PendingCommands, as fault: StoreFault) {
        guard let store else { return }
        var answers = JournalAnswers(fault: fault)
        batch.forEach { commands, place in finish(commands, place, store, &answers) }
        tell(answers, store)
    }

    /// Refuses the undecided transaction: the journal is closed.
    func endUndecided() {
        decide()
        guard let waiting = undecided else { return }
        refuse(waiting.batch, because: waiting.fault)
        answer(pending, as: waiting.fault)
    }
}
