// The page of figures for Prometheus, gathered on request.

internal import HTTP
internal import Jobs
internal import Kernel
internal import RESP
internal import Synchronization
internal import WorkerThreads

/// The page of figures.
enum Metrics {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"
}

/// The figures of one pool at a moment.
private struct PoolFigures {
    var waitingCount = 0
    /// Of these, the ones that wait for a worker in another process.
    var awaitingCount = 0
    var heldUpCount = 0
    var runningCount = 0
    var oldestSeconds = 0.0
    var longestSeconds = 0.0
    var busySeconds = 0.0
    var states: [String: Int] = [:]

    mutating func add(_ other: PoolFigures) {
        waitingCount += other.waitingCount
        awaitingCount += other.awaitingCount
        heldUpCount += other.heldUpCount
        runningCount += other.runningCount
        oldestSeconds = max(oldestSeconds, other.oldestSeconds)
        longestSeconds = max(longestSeconds, other.longestSeconds)
        busySeconds += other.busySeconds
        states.merge(other.states, uniquingKeysWith: +)
    }
}

extension Service {
    /// Answers with the page, once it is known whether the store can be written.
    func answerMetrics(_ head: RequestHead, _ session: Session) {
        let slot = session.reserve(head, .ok, Metrics.contentType)
        let number = session.number
        // The store may take seconds: it is asked before the turn, for which other answers wait.
        health.look { [unowned self] part in
            guard let session = sessions[number] else { return }
            askForState(session, slot) { [unowned self, unowned session] in
                defer { endState(slot) }
                session.fill(slot, encoded: Array(metrics(isStoreWritable: part != .store).utf8))
            }
        }
    }

    private func metrics(isStoreWritable: Bool) -> String {
        var page = MetricsText()
        driver.input { $0.noteRunning() }
        addBuild(to: &page)
        addJobs(to: &page)
        if let figures = driver.figures {
            addPools(figures, to: &page)
            addAttempts(figures, to: &page)
            addWorkers(to: &page)
        }
        page.single(
            "workerd_store_writable", .gauge, "1 if the store could write just now.",
            isStoreWritable ? 1 : 0)
        page.family(
            "workerd_store_commit_seconds", .histogram,
            "How long the store took to write for a probe or for this page.")
        page.histogram("workerd_store_commit_seconds", [], health.commits)
        page.family(
            "workerd_loop_lag_seconds", .histogram,
            "How long main and io took to answer a probe or for this page.")
        page.histogram("workerd_loop_lag_seconds", [], health.lags)
        if let linkWatch {
            page.single(
                "workerd_unreached_nodes", .gauge,
                "Nodes that share the threads and to which no command can be passed on.",
                Double(linkWatch.failingCount))
        }
        addSchedules(to: &page)
        addConnections(to: &page)
        addProcess(to: &page)
        return page.text
    }

    private func addBuild(to page: inout MetricsText) {
        page.family("workerd_build_info", .gauge, "1, with the version as a label.")
        page.series("workerd_build_info", [("version", Service.version)], 1)
    }

    private func addJobs(to page: inout MetricsText) {
        let totals = driver.scheduler.book.totals
        let delayed =
            driver.scheduler.book.count(thread: nil, state: .delayed)
            + driver.scheduler.parkedCount(.delayed)
        page.single(
            "workerd_delayed_jobs", .gauge, "Jobs that have a time to come.", Double(delayed))
        page.single(
            "workerd_orphaned_jobs", .gauge,
            "Jobs whose thread or selector is configured no more.",
            Double(orphanedCount))
        page.single(
            "workerd_stuck_jobs", .gauge, "Jobs that go on after their end was due.",
            Double(driver.stuckCount))
        page.single(
            "workerd_jobs_accepted_total", .counter, "Jobs that were taken.",
            Double(totals.accepted))
        page.family("workerd_jobs_ended_total", .counter, "Jobs that have ended, by how.")
        let ends = [
            ("done", totals.done), ("failed", totals.failed), ("cancelled", totals.cancelled),
            ("expired", totals.expired),
        ]
        for (outcome, count) in ends {
            page.series("workerd_jobs_ended_total", [("outcome", outcome)], Double(count))
        }
    }

    private func addAttempts(_ figures: AttemptFigures, to page: inout MetricsText) {
        page.family(
            "workerd_jobs_refused_total", .counter, "Requests for jobs that were refused, by why.")
        for refusal in AttemptFigures.Refusal.allCases {
            page.series(
                "workerd_jobs_refused_total", [("reason", refusal.rawValue)],
                Double(figures.refusals[refusal] ?? 0))
        }
        page.family("workerd_attempts_total", .counter, "Attempts that have ended, by how.")
        for (selector, counts) in zip(figures.endSelectors.all, figures.ends) {
            for (end, count) in zip(AttemptFigures.End.allCases, counts) {
                page.series(
                    "workerd_attempts_total", [("selector", selector), ("outcome", end.rawValue)],
                    Double(count))
            }
        }
        page.single(
            "workerd_retries_total", .counter, "Attempts beside the first of a job.",
            Double(figures.retryCount))
        page.family(
            "workerd_job_wait_seconds", .histogram,
            "From when a job may begin until it does, to a millisecond.")
        for (pool, histogram) in zip(figures.pools.all, figures.waits) {
            page.histogram("workerd_job_wait_seconds", [("pool", pool)], histogram)
        }
        page.family(
            "workerd_job_run_seconds", .histogram,
            "How long attempts took, to a millisecond.")
        for (selector, histogram) in zip(figures.selectors.all, figures.runs) {
            page.histogram("workerd_job_run_seconds", [("selector", selector)], histogram)
        }
    }

    private func addPools(_ figures: AttemptFigures, to page: inout MetricsText) {
        let pools = poolFigures(figures)
        func add(
            _ name: String, _ kind: MetricsText.Kind, _ help: String,
            _ value: (PoolFigures) -> Double
        ) {
            page.family(name, kind, help)
            for (pool, figures) in zip(figures.pools.all, pools) {
                page.series(name, [("pool", pool)], value(figures))
            }
        }
        add("workerd_waiting_jobs", .gauge, "Jobs that wait for a thread.") {
            Double($0.waitingCount)
        }
        add("workerd_awaiting_worker_jobs", .gauge, "Of these, jobs that wait for a worker.") {
            Double($0.awaitingCount)
        }
        add("workerd_held_jobs", .gauge, "Jobs that wait behind one that is tried again.") {
            Double($0.heldUpCount)
        }
        add("workerd_running_jobs", .gauge, "Jobs that run.") { Double($0.runningCount) }
        add(
            "workerd_oldest_waiting_job_age_seconds", .gauge,
            "How long the oldest waiting job has waited; 0 if none waits."
        ) { $0.oldestSeconds }
        add(
            "workerd_longest_running_job_age_seconds", .gauge,
            "How long the longest running job has run; 0 if none runs."
        ) { $0.longestSeconds }
        add(
            "workerd_thread_busy_seconds_total", .counter,
            "How long the threads have run attempts that have ended."
        ) { $0.busySeconds }
        let states = ThreadCommands.states
        let values = LabelValues(driver.groupsByIndex.map(\.name), factor: states.count)
        var byValue = values.all.map { _ in PoolFigures() }
        for (place, pool) in pools.enumerated() { byValue[values.place(of: place)].add(pool) }
        page.family("workerd_threads", .gauge, "Threads, by what they do.")
        for (pool, figures) in zip(values.all, byValue) {
            for state in states {
                page.series(
                    "workerd_threads", [("pool", pool), ("state", state)],
                    Double(figures.states[state] ?? 0))
            }
        }
    }

    private func addWorkers(to page: inout MetricsText) {
        let selectors = driver.handlers.filter { $0.value.isForWorkers }.keys.sorted()
        page.family(
            "workerd_workers", .gauge, "Connected workers whose latest TAKE names a selector.")
        for selector in selectors.prefix(LabelValues.setCountMax) {
            page.series(
                "workerd_workers", [("selector", selector)],
                Double(driver.exchange.count(of: selector)))
        }
    }

    /// The figures of each value of the label `pool`.
    private func poolFigures(_ figures: AttemptFigures) -> [PoolFigures] {
        let now = driver.wall.unixMilliseconds()
        var pools = figures.pools.all.indices.map { place in
            var pool = PoolFigures()
            pool.busySeconds = figures.busySeconds[place]
            return pool
        }
        let oldest = oldestWaiting()
        for (index, group) in driver.groupsByIndex.enumerated() where driver.isServed(group) {
            var pool = PoolFigures()
            pool.waitingCount = driver.shownWaitingCount(of: group)
            pool.awaitingCount =
                group.awaitingWorkerCount.load(ordering: .relaxed)
                + driver.exchange.lobby.count(of: group)
            pool.heldUpCount = driver.scheduler.knownGroup(of: group.name)?.heldUpCount ?? 0
            pool.oldestSeconds = oldest[index].map { Double(max(0, now - $0)) / 1_000 } ?? 0
            for member in group.members {
                pool.states[ThreadCommands.state(of: member, of: group, self), default: 0] += 1
                guard let run = member.current.withLock({ $0?.run }) else { continue }
                pool.runningCount += 1
                let seconds = Double(max(0, now - run.startedAt)) / 1_000
                pool.longestSeconds = max(pool.longestSeconds, seconds)
            }
            pools[figures.pools.place(of: index)].add(pool)
        }
        return pools
    }

    /// Since when the oldest job of each group waits.
    ///
    /// - Complexity: O(jobs in memory) at worst; it ends when each group that has one is found.
    private func oldestWaiting() -> [Int: Int64] {
        var missing = driver.groups.count { driver.shownWaitingCount(of: $0) > 0 }
        var found: [Int: Int64] = [:]
        guard missing > 0 else { return found }
        driver.scheduler.book.forEachActive { entry in
            switch entry.place {
            case .inLine, .heldUp, .suspended: break
            case .offered: guard (entry.attempt as? JobContext)?.run == nil else { return true }
            case .outside, .committing, .delayed, .buffered: return true
            }
            guard found[entry.group.index] == nil else { return true }
            let job = entry.job
            found[entry.group.index] = max(job.dueAt ?? 0, job.acceptedAt)
            missing -= 1
            return missing > 0
        }
        return found
    }

    private func addSchedules(to page: inout MetricsText) {
        page.single(
            "workerd_schedules", .gauge, "Schedules that are followed.",
            Double(schedules.entries.count))
        let due = schedules.entries.values.compactMap(\.dueAt).min()
        page.single(
            "workerd_schedule_next_due_timestamp_seconds", .gauge,
            "When the first schedule is due; 0 if there is none.", Double(due ?? 0) / 1_000)
    }

    private func addConnections(to page: inout MetricsText) {
        page.family("workerd_connections", .gauge, "Connected clients, by their door.")
        var counts: [String: Int] = [:]
        for session in sessions.values {
            let dialect = session.conversation == nil ? Dialect.commands : .requests
            counts[dialect.doorName, default: 0] += 1
        }
        for dialect in [Dialect.requests, .commands] {
            let door = dialect.doorName
            page.series("workerd_connections", [("door", door)], Double(counts[door] ?? 0))
        }
        page.family(
            "workerd_certificate_expiry_timestamp_seconds", .gauge,
            "When the certificate of a door with TLS ends.")
        for dialect in [Dialect.requests, .commands] {
            guard let end = certificates.endUnixSeconds(of: dialect) else { continue }
            page.series(
                "workerd_certificate_expiry_timestamp_seconds", [("door", dialect.doorName)],
                Double(end))
        }
        page.single(
            "workerd_connections_total", .counter, "Connections that came in.",
            Double(connectionCount))
        page.single(
            "workerd_connections_rejected_total", .counter, "Connections that were turned away.",
            Double(rejectedCount))
        page.single(
            "workerd_commands_total", .counter, "Commands that were executed.",
            Double(commandCount))
    }

    /// The figures that clients of Prometheus give of each process, under the names that they use.
    private func addProcess(to page: inout MetricsText) {
        let cpu = (try? ProcessStatistics.cpuNanoseconds()) ?? 0
        page.single(
            "process_cpu_seconds_total", .counter, "Time that all threads have computed.",
            Double(cpu) / 1e9)
        page.single(
            "process_resident_memory_bytes", .gauge, "Memory that the process occupies.",
            Double((try? ProcessStatistics.residentBytes()) ?? 0))
        page.single(
            "process_open_fds", .gauge, "Descriptors that are open.",
            Double((try? ProcessStatistics.openDescriptorCount()) ?? 0))
        page.single(
            "process_max_fds", .gauge, "Descriptors that may be open.",
            Double((try? ResourceLimit.openDescriptors.current().soft) ?? 0))
        page.single(
            "process_start_time_seconds", .gauge, "When the daemon started.",
            Double(driver.startedAt) / 1_000)
    }
}
