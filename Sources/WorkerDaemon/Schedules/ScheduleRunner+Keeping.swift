// Adding and removing schedules: from the configuration, from the store, by command. A command's
// change is in the store before the command is answered.

internal import Jobs
internal import Kernel

extension ScheduleRunner {
    // MARK: - At the start

    /// Takes up the schedules of the configuration, and those that commands have left in the store.
    ///
    /// Runs that were missed are made up for, as each schedule's rule says.
    func start(_ configured: [Configuration.Schedule], recovered: [ScheduleRecord]) {
        let now = driver.wall.unixMilliseconds()
        let names = Set(configured.map(\.name))
        var kept: [String: ScheduleRecord] = [:]
        for record in recovered {
            let name = record.definition.name
            if names.contains(name) {
                kept[name] = record
                if record.isFromCommand { warnOfReplaced(name) }
            } else if record.isFromCommand {
                restore(record)
            } else {
                driver.log.notice("schedule \(name) is in the configuration no more: forgotten")
                drop(record.definition)
            }
        }
        for schedule in configured {
            var record = ScheduleRecord(
                schedule.definition, isFromCommand: false,
                progress: ScheduleProgress(since: now))
            let before = kept[schedule.name]
            if let before, before.isWhole, before.definition.rhythm == record.definition.rhythm {
                record.progress = before.progress
            }
            let entry = ScheduleEntry(record, schedule.cron, schedule.zone.rules)
            if before != record { keep(entry) }
            // Also in another rhythm: that job is one of this schedule.
            entry.living = before?.progress.lastJob.map { [$0] } ?? []
            insert(entry)
        }
    }

    func warnOfReplaced(_ name: String) {
        driver.log.warning(
            "schedule \(name): the one of the configuration takes the place of the one that a "
                + "command gave")
    }

    private func restore(_ record: ScheduleRecord) {
        do throws(ScheduleFault) {
            insert(try entry(record))
        } catch {
            // It stays in the store, for the day on which its zone is there again.
            unfollowed[record.definition.name] = record.definition.request.thread
            driver.log.error("schedule \(record.definition.name) is not followed: \(error)")
        }
    }

    private func entry(_ record: ScheduleRecord) throws(ScheduleFault) -> ScheduleEntry {
        guard record.isWhole else { throw ScheduleFault("its row in the store is damaged") }
        guard case .cron(let text, let zone) = record.definition.rhythm else {
            return ScheduleEntry(record, nil, .utc)
        }
        // A file of some kilobytes: only the client that gives a schedule waits for it.
        return ScheduleEntry(
            record, try CronExpression(text), try ZoneFiles.rules(zone, .system))
    }

    /// Stores a schedule of the configuration; its next run repeats a write that has failed.
    func keep(_ entry: ScheduleEntry) {
        let record = entry.record
        entry.isKept = false
        driver.keep({ .keepSchedule(record, ticket: $0) }) { [log = driver.log] fault in
            entry.isKept = fault == nil
            if let fault { log.error("schedules can't be recorded: \(fault)") }
        }
    }

    /// Has the store forget a schedule, unless the schedule has another thread by now.
    func drop(_ definition: ScheduleDefinition) {
        let (name, thread) = (definition.name, definition.request.thread)
        driver.keep({ .dropSchedule(name, thread: thread, ticket: $0) }) {
            [log = driver.log] fault in
            guard let fault, fault.kind != .scheduleGone else { return }
            log.error("schedules can't be recorded: \(fault)")
        }
    }

    // MARK: - By command

    /// Follows a schedule from now on, in place of one of the same name; answers when it is in the
    /// store, or can't get there.
    ///
    /// With the same rhythm it goes on from where that one is.
    func add(_ definition: ScheduleDefinition, _ reply: ReplyToken) {
        let record = ScheduleRecord(
            definition, isFromCommand: true,
            progress: ScheduleProgress(since: driver.wall.unixMilliseconds()))
        let entry: ScheduleEntry
        do throws(JobError) {
            try checkRoom(for: definition.name)
            try driver.checkServed(definition.request)
            entry = try followed(record)
        } catch {
            return driver.door.answer(reply, .failed(error))
        }
        let (name, thread) = (definition.name, definition.request.thread)
        adding[name, default: []].append(thread)
        driver.keep({ .keepSchedule(record, ticket: $0) }) { [unowned self] fault in
            let others = adding[name]?.dropFirst() ?? []
            adding[name] = others.isEmpty ? nil : Array(others)
            if fault == nil { replace(with: entry) }
            driver.door.answer(reply, fault.map { .failed(.storeFailed($0)) } ?? .done)
        }
    }

    private func checkRoom(for name: String) throws(JobError) {
        if driver.isRefusing { throw JobError.shuttingDown }
        let before = entries[name]
        // Another daemon may follow a schedule of the configuration.
        if before?.isFromCommand == false || isConfigured(name) {
            throw JobError.configuredSchedule(name)
        }
        let addingCount = adding.values.reduce(0) { $0 + $1.count }
        if before == nil, entries.count + addingCount >= Self.countMax {
            throw JobError.tooManySchedules(entries.count)
        }
    }

    private func followed(_ record: ScheduleRecord) throws(JobError) -> ScheduleEntry {
        do throws(ScheduleFault) {
            return try entry(record)
        } catch {
            throw JobError.invalidSchedule(error)
        }
    }

    private func replace(with entry: ScheduleEntry) {
        let before = entries[entry.definition.name]
        let goesOn = before?.definition.rhythm == entry.definition.rhythm
        if let before, goesOn { entry.progress = before.progress }
        entry.living = before?.living ?? []
        if driver.store.sharedSeat != nil {
            entry.unread = goesOn ? .newer : .all
            resume(entry)
        }
        insert(entry)
    }

    /// Ends a schedule; answers how many there were, when the store has forgotten it.
    ///
    /// A schedule ends also if its thread has no owner. An owner gets the same command: then one of
    /// the two daemons counts the schedule.
    ///
    /// - Parameter stored: the schedule that `find` has found.
    func remove(_ name: String, _ stored: StoredSchedule?, _ reply: ReplyToken) {
        let present = entries[name]
        if present?.isFromCommand == false {
            return driver.door.answer(reply, .failed(.configuredSchedule(name)))
        }
        // Another node may have the schedule configured, and answers for it.
        let found = stored?.isFromCommand == true ? stored?.thread : nil
        guard let thread = adding[name]?.last ?? found ?? present?.thread ?? unfollowed[name] else {
            return driver.door.answer(reply, .count(0))
        }
        driver.keep({ .dropSchedule(name, thread: thread, ticket: $0) }) { [unowned self] fault in
            // Another node has ended the schedule, or has it now and answers for it.
            let isElsewhere = fault?.kind == .scheduleGone
            if let fault, !isElsewhere {
                return driver.door.answer(reply, .failed(.storeFailed(fault)))
            }
            unfollowed[name] = nil
            // A schedule that came after the command stays.
            if let entry = entries[name], entry === present || entry.thread == thread {
                remove(entry)
            }
            driver.door.answer(reply, .count(isElsewhere ? 0 : 1))
        }
    }
}
