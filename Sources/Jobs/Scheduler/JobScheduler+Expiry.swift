// Expiry: the end of jobs that have not begun in time, by the wall clock. A job in memory has an
// alarm of its own, and its thread looks once more before it begins. All parked jobs share one
// alarm: then the store is asked which of them are too late.

/// When parked jobs are too late to begin.
struct ParkedExpiry {
    /// The moment of the first one, at the earliest, in Unix milliseconds; `.max` for none.
    fileprivate(set) var next = Int64.max
    fileprivate var alarm: Alarms.Handle?

    /// How many are looked for at once.
    fileprivate static let countMax = 256
    /// How long after a refusal of the store they are looked for again.
    fileprivate static let pauseMilliseconds: Int64 = 1_000
}

extension JobScheduler {
    // MARK: - In memory

    /// Ends a job at its moment if it has not begun by then.
    mutating func watchExpiry(of job: JobEntry) {
        job.expiry = alarms.set(.expiry(job), at: now.monotonic(at: job.expiresAt))
    }

    mutating func expire(_ job: JobEntry) {
        job.expiry = nil
        guard book.active(job.id) === job else { return }
        // A later attempt has all the time that it needs.
        if job.expiresAt != .max { _ = withdraw(job, as: .expired) }
    }

    /// A job is no longer watched.
    mutating func endExpiry(of job: JobEntry) {
        guard let expiry = job.expiry else { return }
        alarms.cancel(expiry)
        job.expiry = nil
    }

    /// A job leaves memory that has not begun: it is parked.
    mutating func leaveExpiry(of job: JobEntry) {
        endExpiry(of: job)
        if job.expiresAt != .max { noteParkedExpiry(at: job.expiresAt) }
    }

    /// The clock on the wall was set.
    mutating func dateExpiriesAnew() {
        for job in book.activeJobs where job.expiry != nil {
            endExpiry(of: job)
            watchExpiry(of: job)
        }
        setExpiryAlarm()
    }

    // MARK: - Parked

    /// A job is parked that ends if it has not begun by a moment.
    mutating func noteParkedExpiry(at moment: Int64) {
        guard moment < queues.parkedExpiry.next else { return }
        queues.parkedExpiry.next = moment
        setExpiryAlarm()
    }

    private mutating func setExpiryAlarm() {
        alarms.cancel(queues.parkedExpiry.alarm)
        queues.parkedExpiry.alarm = nil
        guard queues.parkedExpiry.next != .max else { return }
        queues.parkedExpiry.alarm = alarms.set(
            .parkedExpiry, at: now.monotonic(at: queues.parkedExpiry.next))
    }

    mutating func findExpiredNow() {
        queues.parkedExpiry.alarm = nil
        // A job that is parked from here on sets it again.
        queues.parkedExpiry.next = .max
        findExpired(after: .first)
    }

    /// Looks again in a while, when the store may be able to read and write.
    mutating func findExpiredLater() {
        noteParkedExpiry(at: now.unixMilliseconds + ParkedExpiry.pauseMilliseconds)
    }

    private mutating func findExpired(after place: DueKey) {
        let moment = now.unixMilliseconds
        ask(.findExpired) {
            .findExpired(at: moment, after: place, limit: ParkedExpiry.countMax, ticket: $0)
        }
    }

    /// The store has told some jobs that are too late to begin.
    mutating func foundExpired(_ result: Result<ExpiringJobs, StoreFault>) {
        switch result {
        case .failure: findExpiredLater()
        case .success(let found):
            // Jobs in memory have alarms of their own.
            for place in found.places where book.active(place.id) == nil { expireParked(place.id) }
            if let last = found.places.last, !found.isEnd { return findExpired(after: last) }
            if let next = found.next { noteParkedExpiry(at: next) }
        }
    }

    private mutating func expireParked(_ id: JobID) {
        guard book.state(of: id) != .waiting else {
            // It was left to the store when its thread was stopped.
            apply(.expire, to: id)
            return effects.record(.end(id, nil, .expired, at: now.unixMilliseconds))
        }
        cancels.begin(id)
        ask(.expire(id)) { .cancel(id, as: .expired, ticket: $0) }
    }
}
