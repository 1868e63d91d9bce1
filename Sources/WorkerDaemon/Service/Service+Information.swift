// The text of INFO: the daemon in figures, section by section, as Redis writes it.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Synchronization
internal import WorkerThreads

extension Service {
    /// The sections of INFO.
    ///
    /// - Parameter section: only this one, in lower case; nil, `all` or `everything` for all.
    func information(_ section: String?) -> String {
        let all: [(String, [(String, String)])] = [
            ("Server", serverLines), ("Clients", clientLines), ("Memory", memoryLines),
            ("Jobs", jobLines), ("Schedules", schedules.figures), ("Backups", backups.figures),
            ("Threads", threadLines), ("Loop", loopLines),
        ]
        let isAll = section == nil || ["all", "everything", "default"].contains(section)
        let chosen = all.filter { isAll || $0.0.lowercased() == section }
        return chosen.map { name, lines in
            "# \(name)\r\n" + lines.map { "\($0.0):\($0.1)\r\n" }.joined()
        }.joined(separator: "\r\n")
    }

    private var serverLines: [(String, String)] {
        let uptime = (driver.wall.unixMilliseconds() - driver.startedAt) / 1_000
        return [
            ("workerd_version", Service.version),
            ("process_id", "\(ProcessStatistics.processID)"),
            ("uptime_in_seconds", "\(uptime)"),
            ("store", driver.store.name),
            ("total_commands_processed", "\(commandCount)"),
        ]
    }

    private var clientLines: [(String, String)] {
        [
            ("connected_clients", "\(sessions.count)"),
            ("maxclients", "\(configuration.limits.connections)"),
            ("total_connections_received", "\(connectionCount)"),
            ("rejected_connections", "\(rejectedCount)"),
        ]
    }

    private var memoryLines: [(String, String)] {
        let backlog = sessions.values.reduce(0) { $0 + $1.outputByteCount }
        return [
            ("used_memory_rss", (try? ProcessStatistics.residentBytes()).map { "\($0)" } ?? "?"),
            ("client_output_backlog", "\(backlog)"),
        ]
    }

    private var jobLines: [(String, String)] {
        driver.input { $0.noteRunning() }
        let totals = driver.scheduler.book.totals
        let states = JobState.allCases.filter { !$0.isEnded }.map { state in
            let parked = driver.scheduler.parkedCount(state)
            return (
                "\(state.rawValue)_jobs",
                "\(driver.scheduler.book.count(thread: nil, state: state) + parked)"
            )
        }
        return states + [
            ("total_jobs_accepted", "\(totals.accepted)"),
            ("total_jobs_done", "\(totals.done)"),
            ("total_jobs_failed", "\(totals.failed)"),
            ("total_jobs_cancelled", "\(totals.cancelled)"),
            ("total_jobs_expired", "\(totals.expired)"),
            ("orphaned_jobs", "\(driver.scheduler.orphanedCount)"),
            ("running_children", "\(driver.children.count)"),
            ("stuck_jobs", "\(driver.stuckCount)"),
            ("stalled_queues", "\(driver.scheduler.stalledQueueCount)"),
            ("miscounts", "\(driver.scheduler.queues.miscounts.count)"),
            ("replaced_threads", "\(driver.threads.replacedCount)"),
        ]
    }

    private var threadLines: [(String, String)] {
        driver.groups.flatMap { group in
            group.members.map { member in
                let done = member.doneCount.load(ordering: .relaxed)
                let failed = member.failedCount.load(ordering: .relaxed)
                let current = member.current.withLock { $0 }
                let isStuck = current.map { driver.isStuck(JobID($0.id)) } == true
                return (
                    member.thread.name,
                    "waiting=\(group.pool.waitingCount),running=\(current == nil ? 0 : 1),done=\(done),"
                        + "failed=\(failed),stuck=\(isStuck ? 1 : 0)"
                )
            }
        } + driver.scheduler.queues.orphans.threads.map { ($0.name, "orphaned=\($0.count)") }
    }

    private var loopLines: [(String, String)] {
        let counters = loop.counters
        return [
            ("io_passes", "\(counters.passCount)"), ("io_sleeps", "\(counters.sleepCount)"),
            ("io_ports_handled", "\(counters.portCount)"),
            ("io_timers_fired", "\(counters.timerCount)"),
        ]
    }
}
