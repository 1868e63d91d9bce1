// Jobs that are to end and do not listen: a Swift handler can't be made to. They are told of, with the
// place where they hang; and if the configuration says so, their thread is left to them and a fresh one
// goes on.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Synchronization
internal import WorkerThreads

extension JobDesk {
    /// Whether a job runs that was to end some time ago.
    func isStuck(_ id: JobID) -> Bool { live[id]?.stuckSince != nil }

    /// How many such jobs there are.
    var stuckCount: Int {
        lanes.flatMap(\.members).count { member in
            member.current.withLock { $0 }.map { isStuck(JobID($0.id)) } == true
        }
    }

    /// The jobs that are stuck, the newest first.
    func listStuck(thread: String?, limit: Int) -> [Job] {
        noteRunning()
        let running = lanes.flatMap(\.members).compactMap { $0.current.withLock { $0?.id } }
        let stuck = running.map { JobID($0) }.filter(isStuck).compactMap(store.job)
        let chosen = stuck.filter { thread == nil || $0.thread == thread }
        return Array(chosen.sorted { $1.id < $0.id }.prefix(limit))
    }

    /// A job's state as it is shown: `stuck` is no state of its own, what can become of it is that of
    /// a running one.
    func shownState(of job: Job) -> String {
        if job.state == .running, isStuck(job.id) { return "stuck" }
        // What is due and parked waits like any other. In memory, a delay goes on when the clock is set.
        if job.state == .delayed, live[job.id] == nil,
            job.dueAt.map({ $0 <= wall.unixMilliseconds() }) == true
        {
            return JobState.waiting.rawValue
        }
        return job.state.rawValue
    }

    // MARK: - Alarms

    /// Waits for the end of a job that has begun, if it has a time limit.
    func watchTimeLimit(of job: LiveJob) {
        guard let run = job.context.run, run.deadline != .distantFuture else { return }
        setAlarm(of: job, from: run.deadline)
    }

    /// Waits for the end of a job that was asked to end.
    func watchCancel(of job: LiveJob) { setAlarm(of: job, from: loop.now) }

    private func setAlarm(of job: LiveJob, from moment: Instant) {
        let due = moment.advanced(by: job.lane.stuckAfter)
        guard job.handler.mayNotListen, job.stuckSince == nil else { return }
        if let alarm = job.alarm {
            guard due < alarm.fireDate else { return }
            alarm.invalidate()
        }
        let context = job.context
        let held = Confined((desk: self, job: job), to: loop)
        let alarm = ThreadRunLoop.Timer(at: due) { _ in
            let (desk, job) = held.value
            if job.context === context, desk.live[job.id] === job { desk.isStuck(job) }
        }
        job.alarm = alarm
        loop.add(alarm)
    }

    /// The job has ended.
    func endAlarm(of job: LiveJob) {
        job.alarm?.invalidate()
        job.alarm = nil
        guard let since = job.stuckSince else { return }
        job.stuckSince = nil
        let milliseconds = wall.unixMilliseconds() - since
        let what = job.context.title
        log.notice("\(what) is stuck no longer after \(milliseconds) ms")
    }

    // MARK: - Stuck

    private func isStuck(_ job: LiveJob) {
        guard let run = job.context.run, let member = job.lane.member(named: run.thread) else {
            return
        }
        job.stuckSince = wall.unixMilliseconds()
        noteStart(job.id, on: run.thread, at: run.startedAt)
        if let stored = store.job(job.id) { tellWatchers(of: stored) }
        let isReplaced = job.lane.whenStuck == .replace
        report(job, run, on: member.thread, isReplaced: isReplaced)
        if isReplaced { replaceThread(of: member, running: job, run) }
    }

    /// Says in the log where a job hangs now.
    ///
    /// Somebody has tried to cancel it; at most once a second for all, however many try.
    func reportAgain(_ job: LiveJob) {
        guard loop.now >= stuckReportDue, let run = job.context.run,
            let member = job.lane.member(named: run.thread)
        else { return }
        report(job, run, on: member.thread, isReplaced: false)
    }

    /// Says in the log what hangs, and where.
    private func report(
        _ job: LiveJob, _ run: JobContext.Run, on thread: WorkerThread, isReplaced: Bool
    ) {
        stuckReportDue = loop.now.advanced(by: .seconds(1))
        let reason = job.context.isCancelRequested ? "was asked to end" : "is over its time limit"
        let text =
            "thread \(run.thread) is stuck: \(job.context.title) runs since "
            + "\(WallClock.utc(run.startedAt)), \(reason) and does not listen"
            + (isReplaced ? "; another thread takes its place" : "")
        let log = log
        // The thread has a second to say where it is: not on this one.
        let say: @Sendable () -> Void = {
            let places = thread.backtrace()
            let lines = places.isEmpty ? ["where it is, it does not say"] : places
            log.error(([text] + lines).joined(separator: "\n    "))
        }
        do {
            try Watchdog.shared().worker.post(say)
        } catch {
            log.error(text)
        }
    }

    /// Goes on without a thread: its job ends for those who wait for it.
    private func replaceThread(
        of member: Lane.Member, running job: LiveJob, _ run: JobContext.Run
    ) {
        // It may have ended in this very moment.
        guard job.context.giveUp() else { return }
        let outcome: Outcome = job.context.isCancelRequested ? .cancelled : .timedOut
        if outcome.state == .failed { member.failedCount.add(1, ordering: .relaxed) }
        // Nobody is to hear that it is stuck no longer.
        job.stuckSince = nil
        // Before the fresh one takes a job: what it holds up is taken back now.
        complete(
            Completion(
                job: job.id, attemptNumber: job.context.attempt, outcome: outcome,
                thread: run.thread, startedAt: run.startedAt, endedAt: wall.unixMilliseconds()))
        do throws(SystemError) {
            let old = try job.lane.replaceThread(of: member)
            replacedThreads.removeAll { $0.hasEnded }
            replacedThreads.append(old)
            replacedThreadCount += 1
        } catch {
            log.error("no other thread can take the place of \(run.thread): \(error)")
        }
    }
}
