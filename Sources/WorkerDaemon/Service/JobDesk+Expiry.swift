// Jobs that end because they have not begun in time, by the clock on the wall. One in memory has an alarm of
// its own, and its worker looks once more before it begins. For all parked ones there is one alarm: then the
// store is asked which are meant.

internal import Jobs
internal import Kernel
internal import RunLoops

extension JobDesk {
    /// Parked jobs that are looked for at once.
    private static let expiringCountMax = 256

    // MARK: - In memory

    /// Ends a job if it has not begun by a moment.
    func watchExpiry(of job: LiveJob, at moment: Int64) {
        job.expiry = alarm(at: moment) { [unowned self, id = job.id] in
            guard let job = live[id] else { return }
            job.expiry = nil
            // A later attempt has all the time that it needs.
            if job.context.expiresAt != .max { _ = withdraw(job, as: .expired) }
        }
    }

    /// A job is no longer watched.
    func endExpiry(of job: LiveJob) {
        if let expiry = job.expiry { loop.cancel(expiry) }
        job.expiry = nil
    }

    /// A job leaves memory that has not begun: it is parked.
    func leaveExpiry(of job: LiveJob) {
        endExpiry(of: job)
        if job.context.expiresAt != .max { noteParkedExpiry(at: job.context.expiresAt) }
    }

    /// The clock on the wall was set.
    func dateExpiriesAnew() {
        for job in live.values where job.expiry != nil {
            endExpiry(of: job)
            watchExpiry(of: job, at: job.context.expiresAt)
        }
        setExpiryAlarm()
    }

    private func alarm(
        at moment: Int64, _ body: @escaping () -> Void
    ) -> ThreadRunLoop.Timeout {
        let left = wall.nanosecondsLeft(until: moment)
        let body = Confined(body, to: loop)
        return loop.schedule(at: loop.now.advanced(byNanoseconds: left)) { body.value() }
    }

    // MARK: - Parked

    /// A job is parked that ends if it has not begun by a moment.
    func noteParkedExpiry(at moment: Int64) {
        guard moment < stored.nextExpiry else { return }
        stored.nextExpiry = moment
        setExpiryAlarm()
    }

    private func setExpiryAlarm() {
        if let alarm = stored.expiryAlarm { loop.cancel(alarm) }
        stored.expiryAlarm = nil
        guard stored.nextExpiry != .max else { return }
        stored.expiryAlarm = alarm(at: stored.nextExpiry) { [unowned self] in
            stored.expiryAlarm = nil
            // What is parked from here on notes itself.
            stored.nextExpiry = .max
            findExpiring(after: .first)
        }
    }

    /// Looks again in a while, when the store may be able to read and write.
    func findExpiringLater() { noteParkedExpiry(at: wall.unixMilliseconds() + 1_000) }

    private func findExpiring(after place: DueKey) {
        let now = wall.unixMilliseconds()
        ask(.findExpired) {
            .findExpired(at: now, after: place, limit: Self.expiringCountMax, ticket: $0)
        }
    }

    /// The store has told some that are too late to begin.
    func foundExpiring(_ result: Result<ExpiringJobs, StoreFault>) {
        switch result {
        case .failure: findExpiringLater()
        case .success(let found):
            // Those in memory have alarms of their own.
            for place in found.places where live[place.id] == nil { expireElsewhere(place.id) }
            if let last = found.places.last, !found.isEnd { return findExpiring(after: last) }
            if let next = found.next { noteParkedExpiry(at: next) }
        }
    }

    private func expireElsewhere(_ id: JobID) {
        guard store.state(of: id) != .waiting else {
            // It was left to the store when its thread was stopped.
            apply(.expire, to: id)
            let now = wall.unixMilliseconds()
            return stored.journal.record(.end(id, nil, .expired, at: now))
        }
        stored.cancelling[id, default: 0] += 1
        ask(.expire(id)) { .cancel(id, as: .expired, ticket: $0) }
    }
}
