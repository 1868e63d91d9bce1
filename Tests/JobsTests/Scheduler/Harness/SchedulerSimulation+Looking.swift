// Questions of a random history about a job, and the answers that are right.

import Jobs
import StoreTwin
import Support

extension SchedulerSimulation {
    /// Asks for a description, a listing and a payload.
    func lookAtSome() {
        guard
            let entry = entries.values.sorted(by: { $0.id < $1.id })
                .randomElement(using: &random)
        else { return }
        let (first, second, third) = (reply(), reply(), reply())
        driver.input { $0.describe(entry.id, first) }
        driver.input { $0.goOn(Listing(thread: nil, state: nil, limit: 20, second)) }
        payloads[third.number] = entry.id
        driver.input { $0.payload(of: entry.id, third) }
    }

    /// Checks the answer to a question for a payload.
    func payload(of id: JobID, _ answer: JobAnswer) {
        guard let entry = entries[id] else { return }
        switch answer {
        case .result(let bytes):
            // Of a job that a lost answer named, only the number is known.
            if entry.life >= 0, bytes != entry.request.payload {
                fail("the payload of job \(id) is another one")
            }
            count("payload")
        case .failed(.hasNoPayload):
            if state(of: id)?.isEnded != true, entry.isStored || !isGoingDown {
                fail("job \(id) has not ended, and its payload is gone")
            }
        default: break
        }
    }
}

// MARK: - Unique names

extension SchedulerSimulation {
    /// Gives a request one of few names, mostly with the thread and payload of that name.
    func name(_ request: inout JobRequest) {
        let number = random.below(8)
        request.unique = UniqueName(
            [UInt8(number)], isAgain: random.chance(30),
            milliseconds: random.chance(30) ? Int64(1 + random.below(5_000)) : nil)
        request.thread = number < 4 ? "one" : "two"
        request.payload = Array((random.chance(80) ? "most" : "other").utf8)
    }

    func accepted(_ id: JobID, _ request: JobRequest, isStored: Bool) {
        // A refused submit of its name may have told its number before.
        let known = entries[id]
        if let known, known.life >= 0 { fail("job \(id) was accepted twice") }
        checkName(of: id, request, isStored: isStored)
        let job = driver.scheduler.book.job(id) ?? driver.twin?.book.job(id)
        entries[id] = SimulatedJob(
            id, request, acceptedAt: job?.acceptedAt, at: driver.now.unixMilliseconds,
            isStored: isStored, life: id.number < firstOfLife ? -1 : life)
        entries[id]?.isCancelAsked = known?.isCancelAsked == true
    }

    func known(_ id: JobID, _ request: JobRequest, isStored: Bool) {
        count("repeated")
        if let known = entries[id] {
            let isSame =
                known.request.unique?.bytes == request.unique?.bytes
                && known.request.thread == request.thread
                && known.request.payload == request.payload
            if request.unique == nil || !isSame { fail("job \(id) is another one") }
            return
        }
        // The answer to the first submit of a name was lost in a crash, or a refused submit gets
        // the number of a later one of its name. The job has the options of that submit.
        var request = request
        let job = driver.scheduler.book.job(id) ?? driver.twin?.book.job(id)
        if let job { request.options = job.details.options }
        entries[id] = SimulatedJob(
            id, request, acceptedAt: job?.acceptedAt, at: driver.now.unixMilliseconds,
            isStored: isStored, life: -1)
    }

    /// Checks that a new job has taken its name from none that has not ended.
    private func checkName(of id: JobID, _ request: JobRequest, isStored: Bool) {
        guard let name = request.unique?.bytes else { return }
        for other in entries.values
        where other.id < id && other.isStored == isStored
            && other.request.unique?.bytes == name && other.life == life
            // One that runs again has lost its name.
            && !other.isRunAgainAsked
        {
            if state(of: other.id)?.isEnded == false {
                fail("job \(id) has the name of job \(other.id), which has not ended")
            }
        }
        count("named")
    }
}
