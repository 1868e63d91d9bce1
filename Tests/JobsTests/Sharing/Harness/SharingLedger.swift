// The views of clients and workers of several daemons, written down beside them: which jobs were
// accepted, which attempts have begun where, and how each has ended. No rule of the daemons is
// used here but those that are promised.

import Jobs

/// A job as its client and its workers know it.
final class LedgerJob {
    /// An attempt that has begun.
    struct Attempt {
        let number: Int
        let run: Int64
        let beganAt: Int
        var endedAt: Int?
        var outcome: Outcome?
        /// Whether its end is in the database.
        var isRecorded = false
    }

    let id: JobID
    let request: JobRequest
    /// Jobs of one order begin one after another; nil for a job that keeps none.
    let order: String?
    /// Whether its client was told its number.
    var isTold = false
    var isCancelAsked = false
    var hasFailed = false
    var hasVanished = false
    var attempts: [Attempt] = []

    init(_ id: JobID, _ request: JobRequest) {
        self.id = id
        self.request = request
        let thread = PoolSlot.shown(request.thread)
        if let key = request.options.key {
            order = "\(thread) key \(key)"
        } else {
            order = ["two", "ten"].contains(thread) ? nil : thread
        }
    }

    /// Whether nothing but its order decides when it begins.
    var isPlain: Bool {
        request.schedule == .now && request.options.expireMilliseconds == nil
            && request.unique == nil && !isCancelAsked && !hasFailed && !hasVanished
    }
}

/// All jobs of clients, with the order of their attempts.
struct SharingLedger {
    private(set) var jobs: [JobID: LedgerJob] = [:]
    private(set) var fault: String?
    /// The number of the present event.
    private var moment = 0
    private var keptNumbers: Set<JobID> = []
    private var lastNumbers: [String: JobID] = [:]
    private var orders: [String: [JobID]] = [:]
    private(set) var counts: [String: Int] = [:]

    mutating func fail(_ text: String) { fault = fault ?? text }

    mutating func count(_ word: String) { counts[word, default: 0] += 1 }

    /// The job of a number; one whose client was told nothing has the request of the database.
    mutating func job(_ id: JobID, _ request: JobRequest) -> LedgerJob {
        if let known = jobs[id] { return known }
        let job = LedgerJob(id, request)
        jobs[id] = job
        if let order = job.order { orders[order, default: []].append(id) }
        return job
    }

    // MARK: - Clients

    /// A client is told the number of its new job.
    mutating func accepted(_ id: JobID, _ request: JobRequest) {
        moment += 1
        count("accepted")
        let job = job(id, request)
        if job.isTold { fail("number \(id) was given twice") }
        job.isTold = true
    }

    /// A new job is in the database.
    mutating func kept(_ id: JobID, thread: String) {
        if !keptNumbers.insert(id).inserted { fail("number \(id) comes twice") }
        let group = String(thread.prefix { $0 != "/" })
        if let last = lastNumbers[group], id <= last {
            fail("job \(id) of \(group) is kept after job \(last)")
        }
        lastNumbers[group] = id
    }

    // MARK: - Workers

    /// An attempt begins.
    ///
    /// - Parameter isOver: whether a job has ended, as the daemon of the attempt knows it.
    mutating func began(
        _ id: JobID, _ request: JobRequest, attempt number: Int, run: Int64,
        isOver: (JobID) -> Bool
    ) {
        moment += 1
        count("begun")
        let job = job(id, request)
        if let last = job.attempts.map(\.number).max(), number <= last {
            fail("job \(id) begins attempt \(number) in run \(run) after attempt \(last)")
        }
        if isOver(id) { fail("job \(id) has ended, and begins") }
        if let order = job.order, job.isPlain {
            for other in orders[order] ?? [] where other < id {
                guard let before = jobs[other], before.isTold, before.isPlain,
                    before.request.priority == request.priority
                else { continue }
                if !isOver(other) { fail("job \(id) begins before job \(other)") }
            }
        }
        job.attempts.append(LedgerJob.Attempt(number: number, run: run, beganAt: moment))
    }

    /// An attempt ends; its daemon may die before anyone hears of it.
    mutating func ended(_ id: JobID, attempt number: Int, run: Int64, _ outcome: Outcome) {
        moment += 1
        guard let job = jobs[id],
            let place = job.attempts.lastIndex(where: { $0.number == number && $0.run == run })
        else { return fail("attempt \(number) of job \(id) ends and has not begun") }
        job.attempts[place].endedAt = moment
        job.attempts[place].outcome = outcome
        if outcome.state == .failed { job.hasFailed = true }
        count(outcome.state.rawValue)
    }

    /// An orderly end of its daemon interrupts an attempt: it counts as none, and its number comes
    /// again.
    mutating func interrupted(_ id: JobID, attempt number: Int) {
        moment += 1
        jobs[id]?.attempts.removeAll { $0.number == number && $0.endedAt == nil }
    }

    /// The program of an attempt was killed: the job waits again.
    mutating func vanished(_ id: JobID, attempt number: Int, run: Int64) {
        moment += 1
        guard let job = jobs[id],
            let place = job.attempts.lastIndex(where: { $0.number == number && $0.run == run })
        else { return fail("attempt \(number) of job \(id) vanishes and has not begun") }
        job.attempts[place].endedAt = moment
        job.hasVanished = true
        count("vanished")
    }

    /// The end of an attempt is in the database.
    mutating func recorded(_ id: JobID, attempt number: Int, _ state: JobState) {
        guard number > 0 else { return }
        guard let job = jobs[id],
            let place = job.attempts.lastIndex(where: {
                $0.number == number && $0.endedAt != nil
            })
        else { return fail("attempt \(number) of job \(id) is recorded and has not ended") }
        job.attempts[place].isRecorded = true
        guard let order = job.order else { return checkOverlap(of: job, place, [id]) }
        checkOverlap(of: job, place, orders[order] ?? [])
    }

    private mutating func checkOverlap(of job: LedgerJob, _ place: Int, _ others: [JobID]) {
        let attempt = job.attempts[place]
        guard let end = attempt.endedAt else { return }
        for other in others.compactMap({ jobs[$0] }) {
            for beside in other.attempts where beside.isRecorded {
                guard let otherEnd = beside.endedAt,
                    other !== job || beside.number != attempt.number
                else { continue }
                if attempt.beganAt < otherEnd, beside.beganAt < end {
                    fail(
                        "attempt \(attempt.number) of job \(job.id) and attempt "
                            + "\(beside.number) of job \(other.id) overlap, and both are recorded")
                }
            }
        }
    }
}
