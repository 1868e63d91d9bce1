// Proves the life of a job: which event leads where, and that no other changes anything.

import Jobs
import Testing

@Suite struct `A job` {
    static let events: [JobEvent] = [
        .release, .start(worker: "mail/2"), .retry(dueAt: nil), .retry(dueAt: 500),
        .finish(.done([1])), .finish(.failed(reason: "no")), .finish(.timedOut),
        .finish(.cancelled), .cancel, .expire, .runAgain,
    ]

    /// The state after each event in each state, at a moment before 500; nothing is illegal.
    static func expected(_ state: JobState, _ event: JobEvent) -> JobState? {
        switch (state, event) {
        case (.delayed, .release), (.buffered, .release): .waiting
        case (.delayed, .cancel), (.buffered, .cancel), (.waiting, .cancel): .cancelled
        case (.delayed, .expire), (.buffered, .expire), (.waiting, .expire): .expired
        case (.waiting, .start): .running
        case (.running, .retry(nil)): .waiting
        case (.running, .retry): .delayed
        case (.running, .finish(let outcome)): outcome.state
        case (.failed, .runAgain): .waiting
        default: nil
        }
    }

    @Test(arguments: JobState.allCases, events)
    func `takes each event as the table says, or is as it was`(state: JobState, event: JobEvent)
        throws
    {
        var job = try job(in: state)
        let before = job
        if let after = Self.expected(state, event) {
            try job.apply(event, at: 100)
            #expect(job.state == after)
        } else {
            #expect {
                try job.apply(event, at: 100)
            } throws: { error in
                let text = "\(error)"
                return text.contains(state.rawValue) && text.contains(event.name)
            }
            #expect(job == before)
        }
    }

    @Test func `begins delayed, buffered or waiting, as its schedule says`() {
        let schedules: [(JobRequest.Schedule, JobState)] = [
            (.now, .waiting), (.buffered, .buffered), (.at(11), .delayed), (.at(10), .waiting),
            (.at(.min), .waiting), (.at(.max), .delayed),
        ]
        for (schedule, state) in schedules {
            let request = JobRequest(thread: "mail", selector: "send", schedule: schedule)
            #expect(Job(id: JobID(1), request: request, acceptedAt: 10).state == state)
        }
    }

    @Test func `remembers when and where it ran, and forgets its payload when it ends`() throws {
        let request = JobRequest(thread: "mail", selector: "send", payload: [1, 2, 3])
        var job = Job(id: JobID(7), request: request, acceptedAt: 10)
        #expect(job.byteCount == 3)
        try job.apply(.start(worker: "mail/2"), at: 20)
        #expect(job.workerName == "mail/2")
        #expect(job.attempt == 1)
        #expect(job.payload == [1, 2, 3])
        try job.apply(.finish(.done([9, 9])), at: 30)
        #expect(job.payload == [])
        #expect(job.byteCount == 2)
        #expect(job.outcome == .done([9, 9]))
        #expect([job.acceptedAt, job.startedAt, job.endedAt] == [10, 20, 30])
    }

    @Test func `may be tried as often as was asked, and once more`() {
        let retry = RetryPlan(countMax: 2)
        #expect((1...4).map(retry.follows) == [true, true, false, false])
        let forgiven = RetryPlan(countMax: 2, forgivenCount: 3)
        #expect((4...7).map(forgiven.follows) == [true, true, false, false])
    }

    @Test func `is not delayed by a retry that is due already`() throws {
        var job = try job(in: .running)
        try job.apply(.retry(dueAt: 100), at: 100)
        #expect(job.state == .waiting)
        #expect(job.dueAt == 100)
    }

    @Test(arguments: [
        (Outcome.done([]), JobState.done), (.failed(reason: "x"), .failed),
        (.timedOut, .failed), (.cancelled, .cancelled),
    ])
    func `ends with the state of its outcome`(outcome: Outcome, state: JobState) {
        #expect(outcome.state == state)
        #expect(outcome.state.isEnded)
    }

    private func job(in state: JobState) throws -> Job {
        let schedule: JobRequest.Schedule =
            switch state {
            case .delayed: .at(1_000)
            case .buffered: .buffered
            default: .now
            }
        let request = JobRequest(
            thread: "mail", selector: "send", payload: [1], schedule: schedule)
        var job = Job(id: JobID(1), request: request, acceptedAt: 0)
        if state == .cancelled { try job.apply(.cancel, at: 1) }
        if state == .expired { try job.apply(.expire, at: 1) }
        if [.running, .done, .failed].contains(state) {
            try job.apply(.start(worker: "mail"), at: 1)
        }
        if state == .done { try job.apply(.finish(.done([])), at: 2) }
        if state == .failed { try job.apply(.finish(.timedOut), at: 2) }
        #expect(job.state == state)
        return job
    }
}
