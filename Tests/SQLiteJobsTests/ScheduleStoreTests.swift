// Proves that schedules are kept, and that a run and its job are there together or not at all.

import Jobs
import SQLiteJobs
import Support
import Testing

@Suite struct `Schedules in a store` {
    private func definition(_ rhythm: ScheduleDefinition.Rhythm) -> ScheduleDefinition {
        var definition = ScheduleDefinition(
            name: "nightly", rhythm: rhythm,
            request: JobRequest(
                thread: "ledger", selector: "close",
                payload: [0, 255]))
        definition.missed = .all
        definition.request.priority = .low
        definition.request.options = SharedJobOptions(
            JobOptions(timeoutMilliseconds: 500, retryCountMax: 3))
        return definition
    }

    private func job(_ id: UInt64) -> Job {
        Job(
            id: JobID(id), request: JobRequest(thread: "ledger", selector: "close"),
            acceptedAt: 1)
    }

    @Test func `are read as they were kept, whoever opens the file next`() throws {
        let directory = try StoreDirectory()
        let cron = ScheduleRecord(
            definition(.cron("30 3 * * *", zone: "Europe/Berlin")), isFromCommand: true,
            progress: ScheduleProgress(since: 1_000))
        var every = cron
        every.definition.name = "beat"
        every.definition.rhythm = .every(milliseconds: 10_000)
        every.definition.request.options = SharedJobOptions(
            JobOptions(timeoutMilliseconds: 500))
        every.isFromCommand = false
        every.definition.overlap = .skip
        every.definition.request.unique = UniqueName([0, 255], isAgain: true, milliseconds: 5)
        do {
            let store = try SQLiteStore(path: directory.database)
            try store.transaction(at: 1) { () throws(StoreFault) in
                try store.keep(cron)
                try store.keep(every)
            }
        }
        let store = try SQLiteStore(path: directory.database)
        #expect(try store.schedules() == [every, cron])
        try store.transaction(at: 1) { () throws(StoreFault) in try store.dropSchedule("beat") }
        #expect(try store.schedules() == [cron])
    }

    @Test func `go on from where they are if the rhythm is the same`() throws {
        let directory = try StoreDirectory()
        let store = try SQLiteStore(path: directory.database)
        let old = ScheduleRecord(
            definition(.every(milliseconds: 100)), isFromCommand: true,
            progress: ScheduleProgress(since: 1_000))
        var new = old
        new.definition.request.payload = [7]
        new.progress = ScheduleProgress(since: 9_000)
        var other = new
        other.definition.rhythm = .every(milliseconds: 200)
        let run = ScheduleRun(name: "nightly", thread: "ledger", through: 1_100, at: 1_105)
        try store.transaction(at: 1) { () throws(StoreFault) in
            try store.keep(old)
            try store.accept(job(4), of: run)
            try store.keep(new)
        }
        let kept = try #require(try store.schedules().first)
        #expect(kept.definition == new.definition)
        #expect(kept.progress.since == 1_000 && kept.progress.through == 1_100)
        #expect(kept.progress.lastRunAt == 1_105 && kept.progress.lastJob == JobID(4))
        #expect(try store.job(JobID(4))?.state == .waiting)
        try store.transaction(at: 1) { () throws(StoreFault) in try store.keep(other) }
        #expect(try store.schedules() == [other])
    }

    @Test func `are not ahead of their jobs if a transaction fails`() throws {
        let directory = try StoreDirectory()
        let store = try SQLiteStore(path: directory.database)
        let record = ScheduleRecord(
            definition(.every(milliseconds: 100)), isFromCommand: true,
            progress: ScheduleProgress(since: 1_000))
        try store.transaction(at: 1) { () throws(StoreFault) in
            try store.keep(record)
            try store.accept(job(1))
        }
        #expect(throws: StoreFault.self) {
            try store.transaction(at: 1) { () throws(StoreFault) in
                try store.accept(
                    job(2),
                    of: ScheduleRun(name: "nightly", thread: "ledger", through: 1_100, at: 1_100))
                // The number is taken.
                try store.accept(
                    job(2),
                    of: ScheduleRun(name: "nightly", thread: "ledger", through: 1_200, at: 1_200))
            }
        }
        #expect(try store.schedules() == [record])
        #expect(try store.job(JobID(2)) == nil)
    }

    @Test func `have a place in a file of the oldest version`() throws {
        let directory = try StoreDirectory()
        directory.makeOldestVersion(
            """
            INSERT INTO schedules (name, from_command, every_ms, missed, thread, selector, payload,
                priority, since, through)
            VALUES ('beat', 1, 500, 'once', 'mail', 'send', x'', 1, 1000, 1000)
            """)
        let store = try SQLiteStore(path: directory.database)
        let schedule = try #require(try store.schedules().first)
        #expect(schedule.definition.name == "beat")
        // It made a job for each moment before, and does so no longer.
        #expect(schedule.definition.overlap == .one)
    }
}
