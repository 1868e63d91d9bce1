// The contents of a store, as plain values in memory: dictionaries where a real store has tables.
// It is the reference for the meaning of each change, so each is written in the plainest way.

package import Jobs

/// The state that outlives a crash.
package struct TwinBook: Sendable {
    /// A job as it is kept, its payload included.
    struct Kept: Sendable {
        var job: Job
        /// The payload that a failed job needs to run again.
        var payload: [UInt8]
        /// Whether it was in turn, and was made due as a worker might still hold it.
        var hasLeftTurn = false
    }

    struct Name: Sendable {
        let id: JobID
        let claim: NameClaim
    }

    /// An ended job that is kept because of its name.
    struct NamedEnd: Sendable {
        let until: Int64
        let id: JobID
        let byteCount: Int
    }

    var jobs: [JobID: Kept] = [:]
    var ended: RetainedJobs
    var failed: RetainedJobs
    var names: [[UInt8]: Name] = [:]
    var named: [NamedEnd] = []
    var schedules: [String: ScheduleRecord] = [:]
    var paused: Set<String> = []
    var askedToEnd: Set<JobID> = []
    var reservedBelow: UInt64 = 1
    /// The latest times at which a command made jobs due, and at which an attempt failed.
    var dueThrough = Int64.min
    var retriedThrough = Int64.min
    /// The marks of workers that the store had not been told: attempts, and small results.
    var marks: [JobID: (attempt: Int, result: [UInt8]?)] = [:]
    /// The workers in other processes that hold attempts.
    var holders: [JobID: (attempt: Int, holder: JobHolder)] = [:]
    private(set) var limits: StoreLimits

    package init(limits: StoreLimits = StoreLimits()) {
        self.limits = limits
        ended = .ended(within: limits)
        failed = .failed(within: limits)
    }

    // MARK: - Reading

    /// The jobs that have not ended.
    package var liveJobs: [Job] { live.map(\.job) }

    /// All jobs that it keeps.
    package var allJobs: [Job] { jobs.values.map(\.job) }

    var live: [Kept] {
        jobs.values.filter { !$0.job.state.isEnded }.sorted { $0.job.id < $1.job.id }
    }

    func isLive(_ id: JobID) -> Bool { jobs[id]?.job.state.isEnded == false }

    /// A job as a client is told of it: of one that has ended, the payload is kept apart.
    package func job(_ id: JobID) -> Job? { jobs[id]?.job }

    func payload(of id: JobID) -> FoundPayload? {
        jobs[id].map { kept in
            let isKept = !kept.job.state.isEnded || kept.job.state == .failed
            return FoundPayload(job: kept.job, bytes: isKept ? kept.payload : nil)
        }
    }

    /// The jobs of a queue in a state, in their order: delayed ones by their due time.
    func jobs(of queue: QueueName, _ state: JobState) -> [Job] {
        let jobs = live.map(\.job).filter { $0.queue == queue && $0.state == state }
        return state == .delayed ? jobs.sorted { Self.place($0) < Self.place($1) } : jobs
    }

    static func place(_ job: Job) -> DueKey { DueKey(dueAt: job.dueAt ?? 0, id: job.id) }

    /// The first of some jobs, as many as a load may bring.
    static func batch(_ jobs: [Job], limit: Int, byteCount: Int) -> JobBatch {
        var bytes = 0
        let end = jobs.firstIndex { job in
            bytes += job.payload.count
            return bytes >= byteCount
        }
        let count = min(limit, end.map { $0 + 1 } ?? jobs.count, jobs.count)
        return JobBatch(jobs: Array(jobs.prefix(count)), isEnd: count == jobs.count)
    }

    package func job(of claim: NameClaim, at now: Int64) -> NamedJob? {
        guard let known = names[claim.name] else { return nil }
        let isRemembered = now < known.claim.until && !claim.isAgain
        guard isRemembered || isLive(known.id) else { return nil }
        return NamedJob(known.id, isSame: known.claim.fingerprint == claim.fingerprint)
    }

    // MARK: - Changing

    /// Changes the state of a job; does nothing to an ended one.
    mutating func change(
        _ id: JobID, to state: JobState? = nil, _ body: (inout Job.Progress) -> Void
    ) {
        guard var kept = jobs[id], !kept.job.state.isEnded else { return }
        var progress = kept.job.progress
        body(&progress)
        kept.job = Job(
            id: id, request: kept.job.request, acceptedAt: kept.job.acceptedAt,
            state: state ?? kept.job.state, progress: progress)
        jobs[id] = kept
    }

    mutating func accept(_ job: Job) {
        // In the form that it is read back in: a store keeps the due time of a job, not how it was
        // given.
        let kept = Job(
            id: job.id, request: job.request, acceptedAt: job.acceptedAt, state: job.state,
            progress: job.progress)
        jobs[job.id] = Kept(job: kept, payload: job.payload)
    }

    /// - Returns: the job that has the name already.
    mutating func giveName(_ claim: NameClaim, to id: JobID, at now: Int64) -> NamedJob? {
        if let other = job(of: claim, at: now) { return other }
        names[claim.name] = Name(id: id, claim: claim)
        return nil
    }

    mutating func mark(_ id: JobID, _ attempt: Int, _ result: [UInt8]?) {
        let known = marks[id]
        marks[id] = (max(attempt, known?.attempt ?? 0), result ?? known?.result)
    }

    mutating func start(_ id: JobID, _ attempt: Attempt) {
        change(id) {
            $0.attempt = attempt.number
            $0.startedAt = attempt.startedAt
            $0.workerName = attempt.workerName
        }
    }

    mutating func putBack(_ id: JobID, attempt: Int, forgivenCount: Int, mayExpire: Bool) {
        if let held = holders[id], held.attempt <= attempt + 1 { holders[id] = nil }
        start(id, Attempt(number: attempt))
        change(id) { $0.forgivenCount = forgivenCount }
        if !mayExpire { endExpiry(of: id) }
    }

    /// A job has begun: it expires no more.
    private mutating func endExpiry(of id: JobID) {
        guard var kept = jobs[id] else { return }
        var request = kept.job.request
        Self.dropExpiry(of: &request)
        kept.job = Job(
            id: id, request: request, acceptedAt: kept.job.acceptedAt, state: kept.job.state,
            progress: kept.job.progress)
        jobs[id] = kept
    }

    private static func dropExpiry(of request: inout JobRequest) {
        var options = request.options.value
        options.expireMilliseconds = nil
        request.options = SharedJobOptions(options)
    }

    /// Prepares the jobs that workers may still hold.
    ///
    /// Jobs that no worker holds any more are in turn again.
    ///
    /// - Parameter isMeant: whether a job is of a thread that is taken over.
    mutating func takeHeld(
        at now: Int64, isMeant: (Job) -> Bool = { _ in true }
    ) -> [HeldJob] {
        var taken: [HeldJob] = []
        for (id, held) in holders.sorted(by: { $0.key < $1.key }) {
            guard job(id).map(isMeant) != false else { continue }
            guard isLive(id), let attempt = job(id)?.attempt,
                (held.attempt - 1...held.attempt).contains(attempt)
            else {
                holders[id] = nil
                continue
            }
            if job(id)?.state == .waiting { jobs[id]?.hasLeftTurn = true }
            change(id, to: .delayed) {
                $0.dueAt = now
                $0.attempt = held.attempt - 1
            }
            endExpiry(of: id)
            if let job = job(id) { taken.append(HeldJob(job: job, holder: held.holder)) }
        }
        for kept in live where kept.hasLeftTurn && isMeant(kept.job) {
            let id = kept.job.id
            guard holders[id] == nil else { continue }
            change(id, to: .waiting) { $0.dueAt = nil }
            jobs[id]?.hasLeftTurn = false
        }
        return taken
    }

    mutating func retry(_ id: JobID, _ attempt: Attempt, dueAt: Int64, at now: Int64) {
        if let held = holders[id], held.attempt <= attempt.number { holders[id] = nil }
        start(id, attempt)
        change(id, to: .delayed) {
            $0.dueAt = dueAt
            $0.releasedBefore = nil
        }
        jobs[id]?.hasLeftTurn = false
        retriedThrough = max(retriedThrough, now)
    }

    mutating func end(_ id: JobID, _ attempt: Attempt?, _ outcome: Outcome, at now: Int64) {
        askedToEnd.remove(id)
        holders[id] = nil
        guard var kept = jobs[id], !kept.job.state.isEnded else { return }
        kept.job.end(attempt, outcome, at: now)
        kept.job.releasePayload()
        jobs[id] = kept
        if let until = limits.keptByName(kept.job.details, endedAs: outcome.state, at: now) {
            named.append(NamedEnd(until: until, id: id, byteCount: outcome.byteCount))
            named.sort { ($0.until, $0.id) < ($1.until, $1.id) }
            return
        }
        let entry = RetainedJobs.Entry(
            id: id, endedAt: now,
            byteCount: outcome.byteCount
                + (outcome.state == .failed ? kept.payload.count : 0))
        if outcome.state == .failed { failed.append(entry) } else { ended.append(entry) }
    }

    /// Keeps ended jobs within other limits from now on.
    mutating func limit(_ limits: StoreLimits) {
        self.limits = limits
        ended.takeLimits(of: .ended(within: limits))
        failed.takeLimits(of: .failed(within: limits))
    }

    /// Drops ended jobs past their limits.
    mutating func dropEnded(at now: Int64) {
        let (due, dueFailures) = (ended.due(at: now), failed.due(at: now))
        for entry in due + dueFailures { jobs[entry.id] = nil }
        ended.dropFirst(due.count)
        failed.dropFirst(dueFailures.count)
        for _ in 0..<NamedResults.dropCountMax {
            let isWithin = NamedResults.isWithin(
                limits.retainedByteCountMax, byteCount: named.reduce(0) { $0 + $1.byteCount },
                count: named.count)
            guard let first = named.first, first.until <= now || !isWithin else { break }
            jobs[first.id] = nil
            named.removeFirst()
        }
    }

    mutating func release(_ job: Job, before number: JobID, at now: Int64) {
        change(job.id, to: .delayed) {
            $0.dueAt = now
            $0.releasedBefore = number
        }
        dueThrough = max(dueThrough, now)
    }

    /// Redates jobs that a command has made due, if the clock was set back.
    mutating func keepDue(at now: Int64) {
        guard dueThrough > now else { return }
        dueThrough = now
        for kept in live where kept.job.releasedBefore != nil && kept.job.state == .delayed {
            change(kept.job.id) { $0.dueAt = min($0.dueAt ?? now, now) }
        }
    }

    /// Shortens pauses that are longer than a pause may last, because the clock was set back.
    mutating func shortenPauses(at now: Int64) {
        guard retriedThrough > now else { return }
        retriedThrough = now
        for kept in live where kept.job.state == .delayed {
            let attempts = kept.job.attempt - kept.job.forgivenCount
            guard attempts > 0, kept.job.dueAt ?? 0 > now else { continue }
            let longest = RetryPause.milliseconds(after: attempts).upperBound
            change(kept.job.id) { $0.dueAt = min($0.dueAt ?? 0, now + longest) }
        }
    }

    /// The failed jobs of a selector, in the order of their numbers.
    func failed(of selector: String) -> [JobID] {
        jobs.values.filter { $0.job.state == .failed && $0.job.selector == selector }
            .map(\.job.id).sorted()
    }

    mutating func takeFailed(_ id: JobID) -> Kept? {
        guard let kept = jobs[id], kept.job.state == .failed else { return nil }
        jobs[id] = nil
        let byteCount = kept.payload.count + (kept.job.outcome?.byteCount ?? 0)
        failed.remove(
            RetainedJobs.Entry(id: id, endedAt: kept.job.endedAt ?? 0, byteCount: byteCount))
        return kept
    }

    mutating func runAgain(_ id: JobID, before number: JobID, at now: Int64) -> Job? {
        guard let kept = takeFailed(id) else { return nil }
        var request = kept.job.request
        request.payload = kept.payload
        Self.dropExpiry(of: &request)
        var progress = Job.Progress()
        progress.dueAt = now
        progress.releasedBefore = number
        progress.attempt = kept.job.attempt
        progress.forgivenCount = kept.job.attempt
        accept(
            Job(
                id: id, request: request, acceptedAt: kept.job.acceptedAt, state: .delayed,
                progress: progress))
        dueThrough = max(dueThrough, now)
        askedToEnd.remove(id)
        return job(id)
    }

    mutating func keep(_ change: PauseChange) {
        paused.subtract(change.goingOn)
        if let pool = change.poolGoingOn {
            paused = paused.filter { $0 != pool && !$0.hasPrefix("\(pool)/") }
        }
        paused.formUnion(change.paused)
    }

    mutating func keep(_ record: ScheduleRecord) {
        var record = record
        let name = record.definition.name
        if let before = schedules[name], before.definition.rhythm == record.definition.rhythm {
            record.progress = before.progress
        }
        schedules[name] = record
    }

    package func schedule(_ name: String) -> ScheduleRecord? { schedules[name] }

    func thread(ofSchedule name: String) -> String? { schedules[name]?.definition.request.thread }

    /// Records that a moment needs no job, as another one has its name.
    mutating func note(_ run: ScheduleRun) {
        schedules[run.name]?.progress.through = run.through
    }

    mutating func accept(_ job: Job, of run: ScheduleRun) {
        accept(job)
        schedules[run.name]?.progress.through = run.through
        schedules[run.name]?.progress.lastRunAt = run.at
        schedules[run.name]?.progress.lastJob = job.id
    }
}

extension Job {
    /// Its progress.
    fileprivate var progress: Progress {
        var progress = Progress()
        progress.dueAt = dueAt
        progress.releasedBefore = releasedBefore
        progress.attempt = attempt
        progress.forgivenCount = forgivenCount
        progress.startedAt = startedAt
        progress.workerName = workerName
        progress.endedAt = endedAt
        progress.outcome = outcome
        return progress
    }
}
