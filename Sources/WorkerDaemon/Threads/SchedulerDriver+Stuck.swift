// Jobs that are to end and do not react: a Swift handler can't be made to. The log tells where they
// hang; and if the configuration says so, their thread is left to them and a fresh one goes on.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Synchronization
internal import WorkerThreads

/// Stuck and replaced threads, and the alarms of running jobs.
///
/// Confined to the driver's thread.
struct ThreadIncidents {
    /// Rings when a job has not ended although it was to end.
    fileprivate struct Alarm {
        let context: JobContext
        let timer: ThreadRunLoop.Timer
    }

    fileprivate var alarms: [JobID: Alarm] = [:]
    /// Where stuck jobs hang, as they were last looked at.
    fileprivate var places: [JobID: [String]] = [:]
    /// Before this moment, the place of a stuck job is not told once more.
    fileprivate var reportDue = Instant(nanoseconds: 0)
    /// Replaced threads that have not ended yet.
    fileprivate(set) var replaced: [WorkerThread] = []
    fileprivate(set) var replacedCount = 0

    mutating func close() {
        for alarm in alarms.values { alarm.timer.invalidate() }
        alarms = [:]
        places = [:]
    }
}

extension SchedulerDriver {
    // MARK: - Alarms

    /// Waits for the end of a job that has begun, if it has a time limit.
    func watchTimeLimit(of job: JobEntry) {
        guard let context = job.attempt as? JobContext, let run = context.run,
            run.deadline != .distantFuture
        else { return }
        setAlarm(of: job, context, from: run.deadline)
    }

    /// Waits for the end of a job that was asked to end.
    func watchCancel(of job: JobEntry, _ context: JobContext) {
        setAlarm(of: job, context, from: loop.now)
    }

    private func setAlarm(of job: JobEntry, _ context: JobContext, from moment: Instant) {
        let group = groupsByIndex[job.group.index]
        let due = moment.advanced(by: group.stuckAfter)
        guard handlers[job.details.selector]?.mayNotListen == true, job.stuckSince == nil else {
            return
        }
        if let alarm = threads.alarms[job.id] {
            guard alarm.context !== context || due < alarm.timer.fireDate else { return }
            alarm.timer.invalidate()
        }
        setAlarm(of: job, context, at: due) { $0.isStuck(job, context, in: group) }
    }

    private func setAlarm(
        of job: JobEntry, _ context: JobContext, at due: Instant,
        _ body: @escaping (SchedulerDriver) -> Void
    ) {
        let confined = Confined((driver: self, job: job, body: body), to: loop)
        let timer = ThreadRunLoop.Timer(at: due) { _ in
            let (driver, job, body) = confined.value
            if job.attempt === context, driver.scheduler.book.active(job.id) === job {
                body(driver)
            }
        }
        threads.alarms[job.id] = ThreadIncidents.Alarm(context: context, timer: timer)
        loop.add(timer)
    }

    /// A job has ended.
    func endAlarm(of id: JobID) {
        guard !threads.alarms.isEmpty, let alarm = threads.alarms.removeValue(forKey: id) else {
            return
        }
        alarm.timer.invalidate()
        threads.places[id] = nil
        guard let since = scheduler.book.active(id)?.stuckSince else { return }
        let milliseconds = wall.unixMilliseconds() - since
        log.notice("\(alarm.context.title) is stuck no longer after \(milliseconds) ms")
    }

    // MARK: - Stuck

    private func isStuck(_ job: JobEntry, _ context: JobContext, in group: WorkerGroup) {
        guard let run = context.run, let member = group.member(named: run.thread) else { return }
        input { $0.doesNotReact(job.id) }
        let isReplaced = group.whenStuck == .replace
        report(context, run, on: member.thread, isReplaced: isReplaced)
        if isReplaced { replaceThread(of: member, in: group, running: context, job) }
    }

    /// Says in the log where a job hangs now.
    ///
    /// A client has tried to cancel it; at most once a second for all, however many try.
    func reportStuckAgain(_ job: JobEntry) {
        guard loop.now >= threads.reportDue, let context = job.attempt as? JobContext,
            let run = context.run,
            let member = groupsByIndex[job.group.index].member(named: run.thread)
        else { return }
        report(context, run, on: member.thread, isReplaced: false)
    }

    /// Logs the stuck job, and the place where its thread hangs.
    private func report(
        _ context: JobContext, _ run: JobContext.Run, on thread: WorkerThread, isReplaced: Bool
    ) {
        threads.reportDue = loop.now.advanced(by: .seconds(1))
        let reason = context.isCancelRequested ? "was asked to end" : "is over its time limit"
        let text =
            "thread \(run.thread) is stuck: \(context.title) runs since "
            + "\(WallClock.utc(run.startedAt)), \(reason) and does not listen"
            + (isReplaced ? "; another thread takes its place" : "")
        let (log, loop, id) = (log, loop, JobID(context.id))
        let confined = Confined(self, to: loop)
        // The thread has a second to say where it is: not on this one.
        let say: @Sendable () -> Void = {
            let places = thread.backtrace()
            let lines = places.isEmpty ? ["where it is, it does not say"] : places
            log.error(([text] + lines).joined(separator: "\n    "))
            loop.perform { confined.value.notePlaces(places, of: id) }
        }
        do {
            try Watchdog.shared().worker.post(say)
        } catch {
            log.error(text)
        }
    }

    private func notePlaces(_ places: [String], of id: JobID) {
        if isStuck(id), !places.isEmpty { threads.places[id] = places }
    }

    /// Where a stuck job hangs, the innermost function first; nil if that is not known.
    func places(ofStuck id: JobID) -> [String]? { threads.places[id] }

    /// Goes on without a thread: its job ends for all waiting clients.
    private func replaceThread(
        of member: WorkerGroup.Member, in group: WorkerGroup, running context: JobContext,
        _ job: JobEntry
    ) {
        guard let run = context.run else { return }
        let fresh: WorkerThread
        do throws(SystemError) {
            // Before anything is given up: the member goes on with a thread, or with its job.
            fresh = try group.pool.makeThread(named: run.thread)
        } catch {
            log.error("no other thread can take the place of \(run.thread) yet: \(error)")
            return setAlarm(of: job, context, at: loop.now.advanced(by: .seconds(1))) {
                $0.replaceThread(of: member, in: group, running: context, job)
            }
        }
        // It may have ended in this very moment.
        guard context.giveUp() else { return fresh.stop() }
        let outcome: Outcome = context.isCancelRequested ? .cancelled : .timedOut
        if outcome.state == .failed { member.failedCount.add(1, ordering: .relaxed) }
        // The log does not say that it is stuck no longer.
        threads.alarms[JobID(context.id)] = nil
        // Before the fresh thread takes a job: the jobs that this one holds up are retracted now.
        end(
            Completion(
                job: JobID(context.id), attemptNumber: context.attempt, outcome: outcome,
                thread: run.thread, startedAt: run.startedAt, endedAt: wall.unixMilliseconds()))
        whenCompleted?()
        threads.replaced.removeAll { $0.hasEnded }
        threads.replaced.append(group.replaceThread(of: member, by: fresh))
        threads.replacedCount += 1
    }
}
