// What a random history asks for of a job, and what the answers may say.

import Jobs

extension SchedulerSimulation {
    /// Asks for a description, a listing and a payload.
    func lookAtSome() {
        guard
            let entry = entries.values.sorted(by: { $0.id < $1.id })
                .randomElement(using: &random)
        else { return }
        let (first, second, third) = (reply(), reply(), reply())
        driver.input { $0.describe(entry.id, first) }
        driver.input { $0.list(thread: nil, state: nil, limit: 20, second) }
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
