// The driver's part in jobs for workers in other processes: it tells the scheduler and the store of
// their beginnings, returns and ends.

internal import Jobs
internal import WorkerThreads

extension SchedulerDriver {
    /// Has the exchange tell the scheduler and the store of its jobs.
    func connectExchange() {
        exchange.confirm = { [unowned self] body in confirm(then: body) }
        exchange.noteGivenBack = { [unowned self] id in
            endAlarm(of: id)
            input { $0.givenBack(id) }
            watchNextDelivery(of: id)
            whenCompleted?()
        }
        // The store hears of each attempt that it has begun, and then that it is over.
        exchange.noteStart = { [unowned self] id in
            guard let job = scheduler.book.active(id), job.isStored else { return }
            store.noteStart(id.number, Attempt(number: job.attemptNumber))
        }
        exchange.noteVanished = { [unowned self] id in
            endAlarm(of: id)
            (scheduler.book.active(id)?.attempt as? JobContext)?.noteVanished()
            input { $0.vanished(id) }
            watchNextDelivery(of: id)
            whenCompleted?()
        }
        exchange.endHold = { [unowned self] job in input { $0.endHold(of: job) } }
        exchange.noteHolder = { [store] context, holder in
            guard context.isStored else { return }
            store.noteHolder(context.id, attempt: context.attempt, holder)
        }
        exchange.attempt = { [unowned self] id in scheduler.book.active(id)?.attempt as? JobContext
        }
        exchange.noteCompletion = { [unowned self] completion in
            end(completion)
            whenCompleted?()
        }
        exchange.noteExpired = { [unowned self] id in
            input { $0.foundExpired(id) }
            whenCompleted?()
        }
        exchange.isCarryingOut = { [unowned self] in scheduler.effects.areBeingCarriedOut }
        exchange.isOfferedAgain = { [unowned self] context in
            guard handlers[context.selector]?.isForWorkers == false,
                let job = scheduler.book.active(JobID(context.id))
            else { return false }
            if !context.isWithdrawn { input { $0.offerAgain(job.group) } }
            return context.isWithdrawn
        }
        exchange.mayBegin = { [store] in store.mayBegin($0.id, attempt: $0.attempt) }
        exchange.mayBeServed = { [unowned self] id in
            guard let job = scheduler.book.active(id) else { return false }
            let group = groupsByIndex[job.groupIndex]
            let members = group.member(named: job.thread).map { [$0] } ?? group.members
            return members.contains { !$0.thread.isPaused }
        }
        exchange.isActive = { [unowned self] id in scheduler.book.active(id) != nil }
        exchange.leave = { [unowned self] context in
            // A job that was withdrawn may be offered to other threads by now.
            guard let job = scheduler.book.active(JobID(context.id)), job.attempt === context
            else { return }
            input { $0.isLeftByWorkers(job) }
            whenCompleted?()
        }
    }

    /// Has a job's next delivery set an alarm of its own, if the job has a time limit.
    private func watchNextDelivery(of id: JobID) {
        guard let job = scheduler.book.active(id), let context = job.attempt as? JobContext,
            context.handler.timeout(of: context.options) != nil
        else { return }
        listen(to: job)
    }
}
