// Jobs that were submitted in the store itself, such as by SQL. Each is handed in as a client's job
// is. The store has the next part of them when all of this one are accepted, refused or without
// room.

internal import Jobs
internal import RunLoops

/// The part of submitted jobs that is being handed in.
///
/// Confined to the driver's thread.
final class SubmittedJobs {
    /// Its number as a client of the scheduler.
    static let client = UInt64.max - 2

    private let driver: SchedulerDriver
    private let warning: RareWarning
    /// The largest payload that is accepted.
    private let payloadByteCountMax: () -> Int
    private var part: [SubmittedJob] = []
    private var openCount = 0
    private var answer = SubmittedAnswer()
    private var acceptedCount = 0
    private var refusedCount = 0

    init(_ driver: SchedulerDriver, payloadByteCountMax: @escaping () -> Int) {
        self.driver = driver
        self.payloadByteCountMax = payloadByteCountMax
        warning = RareWarning(on: driver.loop, driver.log) { count, job in
            (count == 1
                ? "a job that was submitted in the store can't be accepted"
                : "\(count) jobs that were submitted in the store can't be accepted, the last one")
                + " \(job)"
        }
    }

    /// Hands in the next part.
    func take(_ jobs: [SubmittedJob]) {
        part = jobs
        openCount = jobs.count
        answer = SubmittedAnswer()
        for (number, job) in jobs.enumerated() {
            // A smaller one would overtake a job of its thread that has found no room.
            if answer.isBusy || answer.busyThreads.contains(job.request.thread) {
                settle()
            } else {
                handIn(job, UInt64(number))
            }
        }
    }

    private func handIn(_ job: SubmittedJob, _ number: UInt64) {
        let (count, limit) = (job.request.payload.count, payloadByteCountMax())
        guard count <= limit else {
            return refuse(job, because: "its payload has \(count) bytes, and the limit is \(limit)")
        }
        var request = job.request
        if let delay = job.delayMilliseconds, delay > 0 {
            request.schedule = .at(
                driver.wall.unixMillisecondsRoundedUp() + delay, byClock: false)
        }
        driver.perform(request, from: job, ReplyToken(client: Self.client, number: number))
    }

    /// The scheduler has answered a job.
    func answered(_ number: UInt64, _ reply: JobAnswer) {
        guard part.indices.contains(Int(number)) else { return }
        let job = part[Int(number)]
        switch reply {
        case .known:
            answer.known.append(job.place)
            settle()
        case .failed(let error): failed(job, error)
        default:
            acceptedCount += 1
            answer.acceptedCount += 1
            settle()
        }
    }

    private func failed(_ job: SubmittedJob, _ error: JobError) {
        switch error {
        case .unknownThread, .unknownSelector, .nameTaken:
            return refuse(job, because: "\(error)")
        case .full, .stoppedThread, .foreignThread: answer.busyThreads.insert(job.request.thread)
        default: answer.isBusy = true
        }
        settle()
    }

    private func refuse(_ job: SubmittedJob, because reason: String) {
        refusedCount += 1
        warning.happened(from: "(ticket \(job.ticket)): \(reason)")
        answer.refusals.append(SubmittedAnswer.Refusal(place: job.place, reason: reason))
        settle()
    }

    private func settle() {
        openCount -= 1
        guard openCount == 0 else { return }
        part = []
        driver.store.add(.settleSubmitted(answer))
        driver.store.fire()
    }

    /// The figures of INFO.
    var figures: [(String, String)] {
        [
            ("total_jobs_submitted_in_store", "\(acceptedCount)"),
            ("total_submits_refused_in_store", "\(refusedCount)"),
        ]
    }
}
