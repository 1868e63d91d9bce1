// All schedules of the daemon: when each is due next, and what follows. One alarm on the wall clock
// serves them all; nothing is looked at before it rings.
//
// A run is a job like any other. It and the record that its moment is dealt with are one
// transaction, so a crash neither loses nor doubles a run. Until that transaction is on the disk,
// the schedule waits; if it fails, or there is no room for the job, the run was missed, and the
// schedule's rule says what becomes of it when there is room.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Structures
internal import Wording

/// The part of a schedule's progress in the store that may be unknown here.
enum UnreadProgress {
    case all
    /// This daemon has followed the schedule, and may know more than the store.
    case newer
}

/// A schedule and how far it has come.
///
/// Confined to the driver's thread.
final class ScheduleEntry {
    let definition: ScheduleDefinition
    let isFromCommand: Bool
    /// Whether its row was committed: the store refuses the runs of a schedule without a row.
    var isKept = true
    /// The progress in the store that must be read before it makes a job; nil for none.
    var unread: UnreadProgress?
    private let zone: TimeZoneRules
    private let cron: CronExpression?
    var progress: ScheduleProgress
    /// Its place among what is due; nil while a commit is awaited, or if it is never due again.
    var handle: TimerHeap<ScheduleEntry>.Handle?
    /// When the alarm rings for it.
    var dueAt: Int64?
    /// Why the latest run could not be; told to the log once.
    var fault: JobError?
    var isFaultTold = false
    /// How many moments its next job leaves out.
    var leftOutCount = 0
    /// How many moments had no job of their own since this entry was made.
    private(set) var leftOutSum = 0
    /// When the latest of them was counted.
    private(set) var leftOutAt: Int64?
    /// Jobs of it that may not have ended; of one whose jobs may overlap, the last only.
    var living: [JobID]

    init(
        _ record: ScheduleRecord, _ cron: CronExpression?, _ zone: TimeZoneRules
    ) {
        definition = record.definition
        isFromCommand = record.isFromCommand
        progress = record.progress
        living = record.progress.lastJob.map { [$0] } ?? []
        self.cron = cron
        self.zone = zone
    }

    /// Counts the moments that its next job has left out.
    fileprivate func countLeftOut(at now: Int64) {
        leftOutSum += leftOutCount
        if leftOutCount > 0 { leftOutAt = now }
        leftOutCount = 0
    }

    var thread: String { definition.request.thread }

    /// Its row in a store.
    var record: ScheduleRecord {
        ScheduleRecord(definition, isFromCommand: isFromCommand, progress: progress)
    }

    /// The moments at which it is due.
    var schedule: Schedule {
        if let cron { return Schedule(.cron(cron, zone)) }
        guard case .every(let milliseconds) = definition.rhythm else {
            fatalError("a schedule has a cron expression or a period")
        }
        return Schedule(.every(milliseconds: milliseconds, from: progress.since))
    }

    /// Takes over the progress that the store has; nil if it has none.
    func follow(_ stored: ScheduleProgress?) {
        defer { unread = nil }
        guard let stored else { return }
        if unread == .all || stored.through > progress.through { progress = stored }
        if let last = stored.lastJob, !living.contains(last) { living.append(last) }
    }

    /// Follows the clock if that has been set.
    func correct(at now: Int64) {
        // A moment that is a little ahead of the clock does not begin the schedule anew: the clock
        // was put right, or the clock of the node that has made the last job is ahead of this one.
        progress.follow(clockAt: now, tolerance: cron == nil ? 1_000 : 3_600_000)
    }
}

/// The schedules by their names.
///
/// Confined to the driver's thread.
final class ScheduleRunner {
    static let countMax = 10_000
    /// Its number as a client of the scheduler; connections are counted from 1 on.
    static let client: UInt64 = 0
    /// How long after a run that could not be it is tried again at the latest, if there may be room
    /// by then.
    private static let retryMilliseconds: Int64 = 1_000
    /// How long it waits for the commit by which it is given again.
    private static let givingMilliseconds: Int64 = 20
    /// The most schedules looked at, and runs of one made, before others get a turn.
    private static let turnCountMax = 256

    let driver: SchedulerDriver
    let loop: ThreadRunLoop
    private let log: Log
    var entries: [String: ScheduleEntry] = [:]
    /// Whether the configuration has a schedule of a name, also one that another daemon follows.
    var isConfigured: (String) -> Bool = { _ in false }
    /// The threads of stored schedules that can't be followed, by the schedules' names.
    var unfollowed: [String: String] = [:]
    /// How many commands that give a thread a schedule have not found the earlier one yet.
    var wanted: [String: Int] = [:]
    /// The threads of schedules whose commits are awaited, by the schedules' names.
    var adding: [String: [String]] = [:]
    /// How many jobs of a schedule are on their way to the disk: it waits for them.
    private var awaited: [String: Int] = [:]
    /// Jobs that are asked for and not answered.
    private var making: [UInt64: (ScheduleRun, ScheduleEntry)] = [:]
    private var lastNumber: UInt64 = 0
    /// Jobs of which is asked whether they have ended.
    var looks: [UInt64: OverlapLook] = [:]
    private var due = TimerHeap<ScheduleEntry>()
    private var dueHandles: [TimerHeap<ScheduleEntry>.Handle] = []
    /// The names of schedules that wait for room.
    var crowded: Set<String> = []
    var isLookForRoomDue = false
    /// How many jobs were made since the start.
    private(set) var madeCount = 0
    /// How many moments there was no job for since the start.
    private(set) var leftOutCount = 0
    private let alarm: WallAlarm
    /// Nil while it is not set.
    private var alarmAt: Int64?
    private var port: ThreadRunLoop.Port?

    init(driver: SchedulerDriver, loop: ThreadRunLoop, log: Log) throws(SystemError) {
        self.driver = driver
        self.loop = loop
        self.log = log
        alarm = try WallAlarm()
        let book = Confined(self, to: loop)
        let port = ThreadRunLoop.Port(watching: alarm.descriptor.number) { _, _ in
            book.value.alarmRang()
        }
        try loop.add(port)
        self.port = port
        setAlarm()
    }

    /// Makes no job any more.
    func close() {
        driver.whenRoomMayBe = nil
        port?.invalidate()
        port = nil
    }

    // MARK: - What is in it

    /// Puts a schedule into the book, in place of one of the same name.
    func insert(_ entry: ScheduleEntry) {
        if let before = entries[entry.definition.name] { takeOut(before) }
        entries[entry.definition.name] = entry
        crowded.remove(entry.definition.name)
        entry.correct(at: driver.wall.unixMilliseconds())
        // Jobs of the one before may be awaited: how far that has come is known then.
        if awaited[entry.definition.name] == nil { arm(entry) }
        setAlarm()
    }

    /// Takes a schedule out of the book.
    func remove(_ entry: ScheduleEntry) {
        takeOut(entry)
        entries[entry.definition.name] = nil
        crowded.remove(entry.definition.name)
        setAlarm()
    }

    /// Whether no schedule of a thread or pool, and no job of one, is on its way to the disk.
    func isIdle(of group: String) -> Bool {
        let coming = [Array(wanted.keys)] + adding.values
        return !coming.joined().contains { ThreadGroup.name(of: $0) == group }
            && entries(of: group).allSatisfy { awaited[$0.definition.name] == nil }
    }

    /// Follows the schedules of a thread or pool no more: another daemon does.
    func leave(threadsOf group: String) { for entry in entries(of: group) { remove(entry) } }

    private func entries(of group: String) -> [ScheduleEntry] {
        entries.values.filter { ThreadGroup.name(of: $0.thread) == group }
    }

    private func takeOut(_ entry: ScheduleEntry) {
        if let handle = entry.handle { _ = due.remove(handle) }
        entry.handle = nil
        entry.dueAt = nil
    }

    // MARK: - When

    private func alarmRang() {
        alarmAt = nil
        if (try? alarm.next()) == .clockWasSet {
            clockWasSet()
        } else {
            runDue(at: driver.wall.unixMilliseconds())
        }
    }

    /// The clock by which jobs are dated was set, or that of the alarm.
    func clockWasSet() {
        let now = driver.wall.unixMilliseconds()
        alarmAt = nil
        log.notice("the clock was set: schedules, and jobs with a date, follow it")
        driver.input { $0.clockWasSet() }
        for entry in entries.values where awaited[entry.definition.name] == nil {
            entry.correct(at: now)
            arm(entry)
        }
        runDue(at: now)
    }

    /// Makes the jobs that are due.
    func runDue(at now: Int64) {
        guard !driver.isRefusing else { return }
        due.collectDue(upTo: now, into: &dueHandles)
        for handle in dueHandles.prefix(Self.turnCountMax) {
            guard let entry = due.remove(handle) else { continue }
            entry.handle = nil
            entry.dueAt = nil
            run(entry, at: now)
        }
        setAlarm()
    }

    func setAlarm() {
        let next = due.firstFire ?? WallAlarm.never
        guard port != nil, alarmAt != next else { return }
        do throws(SystemError) {
            try alarm.set(to: next == WallAlarm.never ? next : driver.wall.onMachine(next))
            alarmAt = next
        } catch {
            log.error("schedules: the alarm can't be set: \(error)")
        }
    }

    /// When the alarm rings next.
    var nextDueAt: Int64? { due.firstFire }

    /// Whether a schedule waits until its jobs are on the disk.
    func isAwaited(_ name: String) -> Bool { awaited[name] != nil }

    /// Lets the alarm ring for a schedule, at its next moment or at another one.
    func arm(_ entry: ScheduleEntry, at moment: Int64? = nil) {
        takeOut(entry)
        guard let moment = moment ?? entry.schedule.next(after: entry.progress.through) else {
            return
        }
        entry.dueAt = moment
        entry.handle = due.insert(fire: moment, latest: moment, payload: entry)
    }

    // MARK: - Runs

    private func run(_ entry: ScheduleEntry, at now: Int64) {
        crowded.remove(entry.definition.name)
        // It is being given again, maybe back by another node, which has made later jobs of it.
        guard driver.store.sharedSeat == nil || adding[entry.definition.name] == nil else {
            return arm(entry, at: now + Self.givingMilliseconds)
        }
        guard entry.unread == nil else { return resume(entry) }
        guard let found = found(for: entry, at: now) else { return arm(entry) }
        if entry.definition.overlap == .queue || entry.living.isEmpty || found.runs.isEmpty {
            makeJobs(found, of: entry, at: now)
        } else {
            look(for: entry, at: now)
        }
    }

    /// The due runs of a schedule; nil if nothing was due.
    func found(for entry: ScheduleEntry, at now: Int64) -> MissedRuns.Due? {
        entry.definition.missed.due(of: entry.schedule, since: entry.progress.through, at: now)
    }

    /// Makes the jobs of moments that are due.
    func makeJobs(_ found: MissedRuns.Due, of entry: ScheduleEntry, at now: Int64) {
        let rule = entry.definition.missed
        let name = entry.definition.name
        // Runs that a short period leaves out on a slow disk are not told each time.
        let isLate = now - entry.progress.through > MissedRuns.graceMilliseconds
        entry.leftOutCount = found.leftOutCountAtLeast
        if found.runs.isEmpty {
            entry.progress.through = found.through
            countLeftOut(by: entry)
        }
        entry.fault = nil
        if !entry.isKept { keep(entry) }
        // For this loop: it goes on once all are answered, which some may be at once.
        expectAnswer(for: name)
        for moment in found.runs.prefix(Self.turnCountMax) {
            let run = ScheduleRun(name: name, thread: entry.thread, through: moment, at: now)
            make(run, of: entry)
            if entry.fault != nil { break }
        }
        driver.input { $0.keepRuns() }
        if isLate, found.leftOutCount != 0, entry.fault == nil {
            let count =
                found.leftOutCount.map { counted($0, "missed run") }
                ?? "all but \(counted(found.runs.count, "missed run"))"
            log.notice("schedule \(name): \(count) left out (missed: \(rule.rawValue))")
        }
        if !stillAwaits(name) { goOn(entry) }
    }

    private func make(_ run: ScheduleRun, of entry: ScheduleEntry) {
        var request = entry.definition.request
        // It has passed: the job is not delayed, but shows which moment it is for.
        request.schedule = .at(run.through)
        let reply = nextReply()
        making[reply.number] = (run, entry)
        expectAnswer(for: run.name)
        driver.perform(request, of: run, reply)
    }

    /// Where the answer to the next request goes.
    func nextReply() -> ReplyToken {
        lastNumber += 1
        return ReplyToken(client: Self.client, number: lastNumber)
    }

    /// A job was accepted, or could not be; or an earlier one was looked at.
    func answered(_ number: UInt64, _ answer: JobAnswer) {
        if let look = looks.removeValue(forKey: number) { return answered(look, answer) }
        guard let (run, entry) = making.removeValue(forKey: number) else { return }
        let isAwaiting = stillAwaits(run.name)
        // Also if the schedule has been ended or replaced meanwhile.
        switch answer {
        case .accepted:
            madeCount += 1
            countLeftOut(by: entry)
        case .known:
            // The job that has the name stands in for this one.
            entry.leftOutCount += 1
            countLeftOut(by: entry)
        case .failed(.storeFailed(let fault)) where fault.kind == .scheduleGone:
            forget(entry)
        default: break
        }
        // Another one may have come in its place meanwhile, or none.
        guard let present = entries[run.name] else { return }
        switch answer {
        case .accepted(let id):
            if present.definition.rhythm == entry.definition.rhythm { note(run, id, of: present) }
        case .known:
            if present.definition.rhythm == entry.definition.rhythm {
                present.progress.through = max(present.progress.through, run.through)
            }
        // The schedule that was here before has failed to make a job, not this one.
        case .failed where present !== entry: break
        case .failed(let error):
            present.fault = error
            if error.mayFindRoom { awaitRoom(run.name) }
        default: break
        }
        if isAwaiting { return }
        goOn(present)
        setAlarm()
    }

    /// Counts an answer that a schedule waits for.
    func expectAnswer(for name: String) { awaited[name, default: 0] += 1 }

    /// Counts one that is awaited no more.
    ///
    /// - Returns: whether others are.
    func stillAwaits(_ name: String) -> Bool {
        let left = (awaited[name] ?? 1) - 1
        awaited[name] = left > 0 ? left : nil
        return left > 0
    }

    private func note(_ run: ScheduleRun, _ id: JobID, of entry: ScheduleEntry) {
        entry.progress.through = max(entry.progress.through, run.through)
        entry.progress.lastRunAt = run.at
        entry.progress.lastJob = id
        entry.living = entry.definition.overlap == .queue ? [id] : entry.living + [id]
        countLeftOut(by: entry)
    }

    func countLeftOut(by entry: ScheduleEntry) {
        leftOutCount += entry.leftOutCount
        entry.countLeftOut(at: driver.wall.unixMilliseconds())
    }

    /// Waits for the next moment, or for room.
    func goOn(_ entry: ScheduleEntry) {
        let now = driver.wall.unixMilliseconds()
        guard entry.unread == nil else { return arm(entry, at: now + Self.retryMilliseconds) }
        guard let fault = entry.fault else {
            if entry.isFaultTold {
                log.notice("schedule \(entry.definition.name): jobs can be made again")
            }
            entry.isFaultTold = false
            entry.correct(at: now)
            return arm(entry)
        }
        guard !driver.isRefusing else { return }
        if !entry.isFaultTold {
            entry.isFaultTold = true
            log.warning(
                "schedule \(entry.definition.name): no job could be made, the run counts as "
                    + "missed: \(fault)")
        }
        // A thread or selector that is not there is looked for with the next run.
        arm(
            entry,
            at: fault.isPassing ? now + Self.retryMilliseconds : entry.schedule.next(after: now))
    }
}

extension ScheduleRunner {
    /// The figures of INFO about schedules.
    var figures: [(String, String)] {
        [
            ("schedules", "\(entries.count)"),
            ("schedules_without_room", "\(crowded.count)"),
            ("next_schedule_due_at", "\(nextDueAt ?? 0)"),
            ("total_schedule_jobs", "\(madeCount)"),
            ("total_schedule_runs_left_out", "\(leftOutCount)"),
        ]
    }
}
