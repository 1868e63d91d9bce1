// The commands of a scheduler, done in the book of its store; and the store's knowledge of that
// scheduler's memory.

internal import Jobs

/// Does commands in a book.
struct TwinCommands {
    /// The selectors that have a handler.
    var selectors: Set<String>
    /// The last job in turn of each queue that is in the memory of the scheduler.
    var brought: [QueueName: JobID] = [:]
    /// Attempts that have begun and are recorded if they last, in their order.
    var beginnings: [(id: JobID, attempt: Attempt)] = []

    init(serving selectors: Set<String>) { self.selectors = selectors }

    /// Does a command, and returns its answer; a failed transaction changes nothing.
    mutating func answer(
        _ command: StoreCommand, _ fault: StoreFault?, _ book: inout TwinBook, at now: Int64
    ) -> [StoreAnswer] {
        func result<Value>(_ value: Value) -> Result<Value, StoreFault> {
            fault.map { .failure($0) } ?? .success(value)
        }
        switch command {
        case .answer: break
        case .accept(let new):
            book.accept(new.job)
            note(new)
            return [.accepted(count: 1, fault)]
        case .run(let runs):
            return runs.map { made in
                note(made.new)
                guard book.thread(ofSchedule: made.run.name) == made.run.thread else {
                    return .accepted(count: 1, fault ?? .scheduleGone(made.run.name))
                }
                if let claim = made.claim,
                    let other = book.giveName(claim, to: made.new.job.id, at: now)
                {
                    if other.isSame { book.note(made.run) }
                    return fault == nil ? .existing(other) : .accepted(count: 1, fault)
                }
                book.accept(made.new.job, of: made.run)
                return .accepted(count: 1, fault)
            }
        case .acceptOnce(let new, let claim):
            let other = book.giveName(claim, to: new.job.id, at: now)
            note(new)
            if let other, fault == nil { return [.existing(other)] }
            book.accept(new.job)
            return [.accepted(count: 1, fault)]
        case .keepSchedule(let record, let ticket):
            book.keep(record)
            return [.confirmed(ticket: ticket, fault)]
        case .dropSchedule(let name, let thread, let ticket):
            guard book.thread(ofSchedule: name) == thread else {
                return [.confirmed(ticket: ticket, fault ?? .scheduleGone(name))]
            }
            book.schedules[name] = nil
            return [.confirmed(ticket: ticket, fault)]
        case .keepDue(let moment, let ticket):
            book.keepDue(at: moment)
            return [.confirmed(ticket: ticket, fault)]
        case .confirm(let ticket):
            for (id, attempt) in beginnings { book.start(id, attempt) }
            if fault == nil { beginnings = [] }
            return [.confirmed(ticket: ticket, fault)]
        case .settle(let failed, let action, let part, let ticket):
            let answer = book.resolve(failed, action, part)
            return [.settled(ticket: ticket, result(answer))]
        case .fire(let batch, let ticket):
            let release = book.release(batch)
            return [.fired(ticket: ticket, batch, result(release))]
                + batch.queues.map { queue in
                    // A batch that did not reach a queue has no answer for it.
                    let jobs = release.counted[queue].map { _ in
                        book.delayed(
                            queue, after: batch.place(of: queue), batch.loadCountMax,
                            batch.loadByteCountMax)
                    }
                    return .loadedDelayed(
                        queue, after: batch.place(of: queue),
                        result(jobs ?? JobBatch(isEnd: false)))
                }
        case .pause(let change): book.keep(change)
        case .askToEnd(let id): book.askedToEnd.insert(id)
        case .begun(let id, let attempt): beginnings.append((id, attempt))
        case .start(let id, let attempt): book.start(id, attempt)
        case .end(let id, let attempt, let outcome, let moment):
            if attempt != nil { beginnings.removeAll { $0.id == id } }
            book.end(id, attempt, outcome, at: moment)
        case .hold: break
        case .putBack(let id, let attempt, let forgivenCount, let mayExpire):
            beginnings.removeAll { $0.id == id }
            book.putBack(
                id, attempt: attempt, forgivenCount: forgivenCount, mayExpire: mayExpire)
        case .retry(let id, let attempt, let due):
            beginnings.removeAll { $0.id == id }
            book.retry(id, attempt, dueAt: due, at: now)
        case .reserve(let number): book.reservedBelow = number
        case .cancel(let id, let outcome, let ticket):
            var cancelled: [QueueName: [CountedJob]] = [:]
            if let job = book.job(id), isParked(job),
                outcome != .expired || job.attempt == 0
            {
                cancelled[job.queue] = [book.cancel(job, as: outcome, at: now)]
            }
            return [.cancelled(ticket: ticket, result(cancelled))]
        case .cancelPart(let part, let ticket):
            let answer = book.cancel(part, behind: brought, at: now)
            return [.cancelledPart(ticket: ticket, result(answer))]
        case .load(let queue, let limit, let byteCount):
            let behind = brought[queue] ?? JobID(0)
            let jobs = book.jobs(of: queue, .waiting).filter { behind < $0.id }
            let batch = TwinBook.batch(jobs, limit: limit, byteCount: byteCount)
            if let last = batch.jobs.last { brought[queue] = last.id }
            return [.loaded(queue, result(batch))]
        case .loadDelayed(let queue, let place, let limit, let byteCount):
            let batch = book.delayed(queue, after: place, limit, byteCount)
            return [.loadedDelayed(queue, after: place, result(batch))]
        case .limit(let limits): book.limit(limits)
        case .serve(let selectors): self.selectors = selectors
        case .release(let queues): for queue in queues { brought[queue] = nil }
        case .claim(let queues, let ticket):
            let blockers = book.live.map(\.job).filter {
                queues.contains($0.queue) && $0.isBlocker
            }.sorted { TwinBook.place($0) < TwinBook.place($1) }
            return [.claimed(ticket: ticket, result(ClaimedJobs(blockers: blockers)))]
        case .move(_, let ticket): return [.confirmed(ticket: ticket, fault)]
        case .find, .findPayload, .findNamed, .findExpired, .list, .settleSubmitted: break
        }
        return []
    }

    /// The answer of a command that reads single jobs, or lists some.
    func browse(
        _ command: StoreCommand, _ book: TwinBook, at now: Int64
    ) -> [StoreAnswer] {
        switch command {
        case .find(let id, let ticket): [.found(ticket: ticket, .success(book.job(id)))]
        case .findPayload(let id, let ticket):
            [.payload(ticket: ticket, .success(book.payload(of: id)))]
        case .findNamed(let claim, let ticket):
            [.named(ticket: ticket, .success(book.job(of: claim, at: now)))]
        case .findExpired(let moment, let place, let limit, let ticket):
            [
                .expiring(
                    ticket: ticket,
                    .success(book.expiring(at: moment, after: place, limit: limit)))
            ]
        case .list(let listing, let ticket):
            [.listed(ticket: ticket, .success(list(listing, book)))]
        default: []
        }
    }

    /// Records that the parked jobs of a queue are behind a new job in memory.
    private mutating func note(_ new: NewJob) {
        guard !new.isParked, new.job.state == .waiting else { return }
        brought[new.job.queue] = new.job.id
    }

    private func isParked(_ job: Job) -> Bool {
        switch job.state {
        case .waiting:
            brought[job.queue] ?? JobID(0) < job.id || !selectors.contains(job.selector)
        case .delayed, .buffered: true
        case .running, .done, .failed, .cancelled, .expired: false
        }
    }

    private func list(_ listing: JobListing, _ book: TwinBook) -> ListedJobs {
        let jobs = book.jobs.values.map(\.job).filter { job in
            guard listing.span.contains(job.id),
                listing.state == nil || listing.state == job.state
            else { return false }
            guard !job.state.isEnded else {
                return listing.thread == nil || listing.thread == job.thread
            }
            guard listing.queues.contains(job.queue) else { return false }
            return job.state != .waiting || !selectors.contains(job.selector)
                || brought[job.queue] ?? JobID(0) < job.id
        }
        let page = listing.span.sorted(jobs, limit: listing.limit)
        let isWhole = page.count < listing.limit
        let end = listing.span.end
        return ListedJobs(jobs: page, searched: isWhole ? end : page.last?.id ?? end)
    }
}
