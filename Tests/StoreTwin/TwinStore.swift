// A store in memory: the twin of the stores that outlive a daemon. It runs each firing as one
// transaction, on the thread that fires, and sends the answers; a copy of its book is the result of
// a crash.

package import Jobs
package import Kernel
internal import Synchronization

/// The store of a book.
///
/// - Thread: any thread.
package final class TwinStore: JobStore {
    private struct State {
        var book: TwinBook
        /// The selectors that have a handler.
        var selectors: Set<String>
        /// These selectors, and those that had one since the book was opened.
        var countedSelectors: Set<String>
        var pending: [StoreCommand] = []
        var send: (@Sendable ([StoreAnswer]) -> Void)?
        /// The last job in turn of each queue that is in the memory of the scheduler.
        var brought: [QueueName: JobID] = [:]
        /// Attempts that have begun and are recorded if they last, in their order.
        var beginnings: [(id: JobID, attempt: Attempt)] = []
        /// Whether commands collect and none is done.
        var isHeld = false
        /// The faults of the next transactions; nil for one that succeeds.
        var faults: [StoreFault?] = []
    }

    package let name = "twin"
    private let state: Mutex<State>
    private let wall: WallTime

    /// Opens a book.
    ///
    /// - Parameter selectors: the selectors that have a handler.
    package static func open(
        _ book: TwinBook, serving selectors: Set<String>, wall: WallTime
    ) -> (TwinStore, StoreRecovery) {
        var (book, recovery) = (book, StoreRecovery())
        let now = wall.unixMilliseconds()
        book.dropEnded(at: now)
        for (id, mark) in book.marks.sorted(by: { $0.key < $1.key }) {
            if let result = mark.result {
                book.end(id, Attempt(number: mark.attempt), .done(result), at: now)
            } else if let job = book.job(id), job.attempt < mark.attempt {
                book.start(
                    id,
                    Attempt(
                        number: mark.attempt, workerName: job.workerName,
                        startedAt: job.startedAt))
            }
        }
        book.marks = [:]
        for id in book.askedToEnd.sorted() {
            if book.isLive(id) { recovery.endedCount += 1 }
            book.end(id, nil, .cancelled, at: now)
        }
        book.keepDue(at: now)
        book.shortenPauses(at: now)
        let held = book.takeHeld(at: now)
        let live = book.live.map(\.job)
        recovery.nextNumber = max(
            book.reservedBelow, (book.jobs.keys.max()?.number ?? 0) + 1)
        recovery.reservedBelow = recovery.nextNumber + StoreRecovery.reservedCount
        book.reservedBelow = recovery.reservedBelow
        recovery.held = held
        recovery.blockers = live.filter(\.isBlocker)
            .sorted { TwinBook.place($0) < TwinBook.place($1) }
        recovery.queues = Set(live.map(\.queue))
        recovery.stock = RecoveryCount(last: live.last?.id.number ?? 0)
        recovery.part = count(
            live, besides: Set(recovery.blockers.map(\.id) + held.map(\.job.id)), selectors)
        recovery.schedules = book.schedules.values.sorted {
            $0.definition.name < $1.definition.name
        }
        recovery.pausedThreads = book.paused
        recovery.nextExpiry = live.compactMap(\.expiresAt).min()
        return (TwinStore(book, serving: selectors, wall: wall), recovery)
    }

    private static func count(
        _ live: [Job], besides blockers: Set<JobID>, _ selectors: Set<String>
    ) -> RecoveryCount.Part {
        var part = RecoveryCount.Part(isLast: true)
        part.through = live.last?.id.number ?? 0
        for job in live {
            let amount = JobAmount.one(job.payload.count)
            if !selectors.contains(job.selector) {
                part.unserved[job.queue, default: [:]][job.selector, default: [:]][
                    job.state, default: JobAmount()] += amount
            } else if !blockers.contains(job.id) {
                part.amounts[job.queue, default: [:]][job.state, default: JobAmount()] += amount
            }
        }
        return part
    }

    private init(_ book: TwinBook, serving selectors: Set<String>, wall: WallTime) {
        state = Mutex(
            State(book: book, selectors: selectors, countedSelectors: selectors))
        self.wall = wall
    }

    /// The book as a crash would leave it.
    package var book: TwinBook { state.withLock { $0.book } }

    /// Fails one of the next transactions, behind those that were chosen before.
    package func fail(with fault: StoreFault?) { state.withLock { $0.faults.append(fault) } }

    package func add(_ command: consuming StoreCommand) {
        let command = command
        state.withLock { $0.pending.append(command) }
    }

    package func record(_ command: consuming StoreCommand) {
        add(command)
        fire()
    }

    /// Lets commands collect until `goOn`.
    package func hold() { state.withLock { $0.isHeld = true } }

    /// Does the collected commands.
    package func goOn() {
        state.withLock { $0.isHeld = false }
        fire()
    }

    package func fire() {
        let now = wall.unixMilliseconds()
        // Within the lock: answers go out in the order of their commands.
        state.withLock { state in
            guard !state.isHeld else { return }
            let commands = state.pending
            // A transaction with events only fails with the next request.
            let isAsked = commands.contains { !$0.isRecord }
            let fault = state.faults.isEmpty || !isAsked ? nil : state.faults.removeFirst()
            state.pending = fault == nil ? [] : commands.filter(\.isRecord)
            let before = (state.book, state.brought)
            state.book.dropEnded(at: now)
            let answers = commands.flatMap { answer($0, fault, &state, at: now) }
            if fault != nil { (state.book, state.brought) = before }
            if !answers.isEmpty { state.send?(answers) }
            // A browsing command sees all of the transaction, and is answered behind it.
            for command in commands {
                let answers = browse(command, state, at: now)
                if !answers.isEmpty { state.send?(answers) }
            }
        }
    }

    package func noteStart(_ id: UInt64, _ attempt: Attempt) {
        state.withLock { $0.book.mark(JobID(id), attempt.number, nil) }
        record(.begun(JobID(id), attempt))
    }

    package func noteDone(_ id: UInt64, attempt: Int, result: [UInt8]) -> Bool {
        // The largest result that the attempt log takes.
        guard result.count <= 96 else { return false }
        state.withLock { $0.book.mark(JobID(id), attempt, result) }
        return true
    }

    package func noteHolder(_ id: UInt64, attempt: Int, _ holder: JobHolder?) {
        state.withLock { $0.book.holders[JobID(id)] = holder.map { (attempt, $0) } }
        record(.hold(JobID(id), attempt: attempt, holder))
    }

    package func backup(
        _ name: String, in directory: String?, replaces: Bool
    ) throws(BackupError) -> any StoreBackup {
        throw BackupError(.invalid, "the twin makes no backups")
    }

    package func close(nextNumber: UInt64) {
        state.withLock { $0.isHeld = false }
        add(.confirm(ticket: 0))
        add(.reserve(below: nextNumber))
        fire()
        state.withLock { state in
            state.book.marks = [:]
            state.send = nil
        }
    }

    // MARK: - Commands

    /// Does a command, and returns its answer; a failed transaction changes nothing.
    private func answer(
        _ command: StoreCommand, _ fault: StoreFault?, _ state: inout State, at now: Int64
    ) -> [StoreAnswer] {
        func result<Value>(_ value: Value) -> Result<Value, StoreFault> {
            fault.map { .failure($0) } ?? .success(value)
        }
        switch command {
        case .answer(let send): state.send = send
        case .accept(let new):
            state.book.accept(new.job)
            note(new, &state)
            return [.accepted(count: 1, fault)]
        case .run(let runs):
            return runs.map { made in
                note(made.new, &state)
                if let claim = made.claim,
                    let other = state.book.giveName(claim, to: made.new.job.id, at: now)
                {
                    if other.isSame { state.book.note(made.run) }
                    return fault == nil ? .existing(other) : .accepted(count: 1, fault)
                }
                state.book.accept(made.new.job, of: made.run)
                return .accepted(count: 1, fault)
            }
        case .acceptOnce(let new, let claim):
            let other = state.book.giveName(claim, to: new.job.id, at: now)
            note(new, &state)
            if let other, fault == nil { return [.existing(other)] }
            state.book.accept(new.job)
            return [.accepted(count: 1, fault)]
        case .keepSchedule(let record, let ticket):
            state.book.keep(record)
            return [.confirmed(ticket: ticket, fault)]
        case .dropSchedule(let name, let ticket):
            state.book.schedules[name] = nil
            return [.confirmed(ticket: ticket, fault)]
        case .keepDue(let moment, let ticket):
            state.book.keepDue(at: moment)
            return [.confirmed(ticket: ticket, fault)]
        case .confirm(let ticket):
            for (id, attempt) in state.beginnings { state.book.start(id, attempt) }
            if fault == nil { state.beginnings = [] }
            return [.confirmed(ticket: ticket, fault)]
        case .settle(let failed, let action, let part, let ticket):
            let answer = state.book.resolve(failed, action, part)
            return [.settled(ticket: ticket, result(answer))]
        case .fire(let batch, let ticket):
            let release = state.book.release(batch) { [counted = state.countedSelectors] in
                counted.contains($0.selector)
            }
            return [.fired(ticket: ticket, batch, result(release))]
                + batch.queues.map { queue in
                    // A batch that did not reach a queue has no answer for it.
                    let jobs = release.counted[queue].map { _ in
                        state.book.delayed(
                            queue, after: batch.place(of: queue), batch.loadCountMax,
                            batch.loadByteCountMax)
                    }
                    return .loadedDelayed(
                        queue, after: batch.place(of: queue),
                        result(jobs ?? JobBatch(isEnd: false)))
                }
        case .pause(let change): state.book.keep(change)
        case .askToEnd(let id): state.book.askedToEnd.insert(id)
        case .begun(let id, let attempt): state.beginnings.append((id, attempt))
        case .start(let id, let attempt): state.book.start(id, attempt)
        case .end(let id, let attempt, let outcome, let moment):
            if attempt != nil { state.beginnings.removeAll { $0.id == id } }
            state.book.end(id, attempt, outcome, at: moment)
        case .hold: break
        case .putBack(let id, let attempt, let forgivenCount, let mayExpire):
            state.beginnings.removeAll { $0.id == id }
            state.book.putBack(
                id, attempt: attempt, forgivenCount: forgivenCount, mayExpire: mayExpire)
        case .retry(let id, let attempt, let due):
            state.beginnings.removeAll { $0.id == id }
            state.book.retry(id, attempt, dueAt: due, at: now)
        case .reserve(let number): state.book.reservedBelow = number
        case .cancel(let id, let outcome, let ticket):
            var cancelled: [QueueName: [CountedJob]] = [:]
            if let job = state.book.job(id), isParked(job, state),
                outcome != .expired || job.attempt == 0
            {
                cancelled[job.queue] = [state.book.cancel(job, as: outcome, at: now)]
            }
            return [.cancelled(ticket: ticket, result(cancelled))]
        case .cancelPart(let part, let ticket):
            let answer = state.book.cancel(part, behind: state.brought, at: now)
            return [.cancelledPart(ticket: ticket, result(answer))]
        case .load(let queue, let limit, let byteCount):
            let behind = state.brought[queue] ?? JobID(0)
            let jobs = state.book.jobs(of: queue, .waiting).filter { behind < $0.id }
            let batch = TwinBook.batch(jobs, limit: limit, byteCount: byteCount)
            if let last = batch.jobs.last { state.brought[queue] = last.id }
            return [.loaded(queue, result(batch))]
        case .loadDelayed(let queue, let place, let limit, let byteCount):
            let batch = state.book.delayed(queue, after: place, limit, byteCount)
            return [.loadedDelayed(queue, after: place, result(batch))]
        case .limit(let limits): state.book.limit(limits)
        case .serve(let selectors):
            state.selectors = selectors
            state.countedSelectors.formUnion(selectors)
        case .release(let queues): for queue in queues { state.brought[queue] = nil }
        case .claim(let queues, let ticket):
            let blockers = state.book.live.map(\.job).filter {
                queues.contains($0.queue) && $0.isBlocker
            }.sorted { TwinBook.place($0) < TwinBook.place($1) }
            return [.claimed(ticket: ticket, result(blockers))]
        case .find, .findPayload, .findNamed, .findExpired, .list, .settleSubmitted: break
        }
        return []
    }

    /// The answer of a command that reads single jobs, or lists some.
    private func browse(
        _ command: StoreCommand, _ state: borrowing State, at now: Int64
    ) -> [StoreAnswer] {
        switch command {
        case .find(let id, let ticket): [.found(ticket: ticket, .success(state.book.job(id)))]
        case .findPayload(let id, let ticket):
            [.payload(ticket: ticket, .success(state.book.payload(of: id)))]
        case .findNamed(let claim, let ticket):
            [.named(ticket: ticket, .success(state.book.job(of: claim, at: now)))]
        case .findExpired(let moment, let place, let limit, let ticket):
            [
                .expiring(
                    ticket: ticket,
                    .success(state.book.expiring(at: moment, after: place, limit: limit)))
            ]
        case .list(let listing, let ticket):
            [.listed(ticket: ticket, .success(list(listing, state)))]
        default: []
        }
    }

    /// Records that the parked jobs of a queue are behind a new job in memory.
    private func note(_ new: NewJob, _ state: inout State) {
        guard !new.isParked, new.job.state == .waiting else { return }
        state.brought[new.job.queue] = new.job.id
    }

    private func isParked(_ job: Job, _ state: borrowing State) -> Bool {
        switch job.state {
        case .waiting:
            state.brought[job.queue] ?? JobID(0) < job.id || !state.selectors.contains(job.selector)
        case .delayed, .buffered: true
        case .running, .done, .failed, .cancelled, .expired: false
        }
    }

    private func list(_ listing: JobListing, _ state: borrowing State) -> ListedJobs {
        let (book, brought) = (state.book, state.brought)
        let jobs = book.jobs.values.map(\.job).filter { job in
            guard listing.span.contains(job.id),
                listing.state == nil || listing.state == job.state
            else { return false }
            guard !job.state.isEnded else {
                return listing.thread == nil || listing.thread == job.thread
            }
            guard listing.queues.contains(job.queue) else { return false }
            return job.state != .waiting || !state.selectors.contains(job.selector)
                || brought[job.queue] ?? JobID(0) < job.id
        }
        let page = listing.span.sorted(jobs, limit: listing.limit)
        let isWhole = page.count < listing.limit
        let end = listing.span.end
        return ListedJobs(jobs: page, searched: isWhole ? end : page.last?.id ?? end)
    }
}
