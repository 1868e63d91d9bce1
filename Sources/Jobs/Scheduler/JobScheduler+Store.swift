// The store's answers, and where each goes.

extension JobScheduler {
    /// Handles the store's answers, in their order.
    package mutating func take(_ answers: [StoreAnswer]) {
        for answer in answers { take(answer) }
    }

    private mutating func take(_ answer: StoreAnswer) {
        switch answer {
        case .accepted(let count, let fault): committed(count, fault)
        case .existing(let other): existing(other)
        case .loaded(let queue, let result): loaded(queue, result)
        case .loadedDelayed(let queue, let place, let result):
            loadedDelayed(queue, after: place, result)
        case .counted(let part): noteCounted(part)
        case .numbers(let first): book.leap(to: first)
        // Its driver hands them in.
        case .submitted: break
        case .confirmed(let ticket, let fault): confirmed(store.inquiries.take(ticket), fault)
        case .found(let ticket, let result): found(store.inquiries.take(ticket), result)
        case .named(let ticket, let result):
            guard case .repeated(let error, let reply) = store.inquiries.take(ticket) else {
                return
            }
            if case .success(let named?) = result { return answerKnown(named, reply) }
            effects.answer(reply, .failed(error))
        case .payload(let ticket, let result):
            if case .payload(let id, let reply) = store.inquiries.take(ticket) {
                payload(of: id, result, reply)
            }
        case .settled(let ticket, let result):
            if case .resolve(let change) = store.inquiries.take(ticket) { resolved(change, result) }
        case .fired(let ticket, let part, let result):
            if case .fire(let count, let reply) = store.inquiries.take(ticket) {
                fired(part, result, besides: count, reply)
            }
        case .listed(let ticket, let result):
            if case .list(let listing) = store.inquiries.take(ticket) { listed(listing, result) }
        case .cancelled(let ticket, let result): endedParked(store.inquiries.take(ticket), result)
        case .expiring(let ticket, let result):
            if case .findExpired = store.inquiries.take(ticket) { foundExpired(result) }
        case .claimed(let ticket, let result):
            if case .claim(let thread, let reply, let release) = store.inquiries.take(ticket) {
                claimed(thread, of: release, result, reply)
            }
        case .cancelledPart(let ticket, let result):
            if case .cancelMany(let bulk) = store.inquiries.take(ticket) {
                cancelledPart(bulk, result)
            }
        }
    }

    /// A parked job has ended, or was not there.
    private mutating func endedParked(
        _ inquiry: Inquiry?, _ result: Result<[QueueName: [CountedJob]], StoreFault>
    ) {
        let ended = (try? result.get()) ?? [:]
        switch inquiry {
        case .cancel(let id, let count, let reply):
            _ = noteCancelled(ended)
            cancelledParked(id, result, releaseCount: count, reply)
        case .expire(let id):
            _ = noteCancelled(ended, as: .expired)
            noteCancelAnswer(id)
            if case .failure = result { findExpiredLater() }
        default: break
        }
    }

    private mutating func confirmed(_ inquiry: Inquiry?, _ fault: StoreFault?) {
        switch inquiry {
        case .confirm(let reply, let answer):
            effects.answer(reply, fault.map { .failed(.storeFailed($0)) } ?? answer)
        case .driver(let tag): effects.confirm(tag, fault)
        case .keepDue(let moment): keptDue(at: moment, fault)
        default: break
        }
    }

    /// A job that is not in memory was looked for.
    private mutating func found(_ inquiry: Inquiry?, _ result: Result<Job?, StoreFault>) {
        switch inquiry {
        case .describe(let id, let reply): describe(id, known(result, id), reply)
        case .result(let id, let reply):
            switch known(result, id) {
            case .success(let job): effects.answer(reply, JobAnswer(job.outcome, of: id))
            case .failure(let error): effects.answer(reply, .failed(error))
            }
        case .wait(let id, let isNamed, let reply):
            wait(for: id, isNamed: isNamed, known(result, id), reply)
        case .end(let id): lookedForEnd(of: id, known(result, id))
        case .watch(let id, let request):
            if request.found(id, known(result, id)) { finish(request) }
        case .lookAfterCancel(let id, let count, let reply):
            cancel(id, found: known(result, id), releaseCount: count, reply)
        default: break
        }
    }

    /// The job as it was found, if its retention is not over.
    func known(
        _ result: Result<Job?, StoreFault>, _ id: JobID
    ) -> Result<Job, JobError> {
        switch result {
        case .success(let job?)
        where !book.limits.haveExpired(for: job, at: now.unixMilliseconds):
            .success(job)
        case .success: .failure(.unknownJob(id))
        case .failure(let fault): .failure(.storeFailed(fault))
        }
    }
}
