// The text of INFO: the daemon in figures, section by section, as Redis writes it.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Synchronization
internal import WorkerThreads

extension Service {
    /// The version of Redis whose connection commands workerd answers alike.
    ///
    /// Clients choose by it what they send, and some refuse a server older than theirs.
    static let redisVersion = "7.2.0"

    /// A section of INFO: its name, and how its lines are made.
    private typealias Section = (name: String, lines: () -> [(String, String)])

    /// The sections of INFO.
    ///
    /// - Parameters:
    ///   - names: only these, in lower case; none, `all`, `everything` or `default` for all.
    ///   - user: sees its threads only.
    func information(_ names: Set<String>, _ user: User) -> String {
        let all: [Section] = [
            ("Server", { self.serverLines }), ("Clients", { self.clientLines }),
            ("Memory", { self.memoryLines }), ("Persistence", { self.persistenceLines }),
            ("Stats", { self.statisticsLines }), ("Replication", { self.replicationLines }),
            ("Jobs", { self.jobLines }), ("Schedules", { self.schedules.figures }),
            ("Workers", { self.driver.exchange.figures }),
            ("Backups", { self.backups.figures }),
            ("Submitted", { self.submitted.figures }),
            ("Threads", { self.threadLines.filter { user.scope.has(thread: $0.0) } }),
            ("Nodes", { self.nodeLines(for: user) }),
            ("Loop", { self.loopLines }), ("Cluster", { [("cluster_enabled", "0")] }),
            // The databases that have keys.
            ("Keyspace", { [] }),
        ]
        let isAll = names.isEmpty || !names.isDisjoint(with: ["all", "everything", "default"])
        let chosen = all.filter { isAll || names.contains($0.name.lowercased()) }
        return chosen.map { section in
            "# \(section.name)\r\n" + section.lines().map { "\($0.0):\($0.1)\r\n" }.joined()
        }.joined(separator: "\r\n")
    }

    private var serverLines: [(String, String)] {
        let uptime = (driver.wall.unixMilliseconds() - driver.startedAt) / 1_000
        return [
            ("redis_version", Service.redisVersion),
            ("redis_mode", "standalone"),
            ("workerd_version", Service.version),
            ("process_id", "\(ProcessStatistics.processID)"),
            ("server_time_usec", "\(driver.wall.unixNanoseconds() / 1_000)"),
            ("uptime_in_seconds", "\(uptime)"),
            ("store", driver.store.name),
            ("node", configuration.nodeCard.name),
            ("going_down", driver.isRefusing ? "1" : "0"),
        ]
    }

    /// Clients that find `loading:1` wait before they send anything.
    private var persistenceLines: [(String, String)] {
        [("loading", "0"), ("async_loading", "0")]
    }

    private var statisticsLines: [(String, String)] {
        [
            ("total_connections_received", "\(connectionCount)"),
            ("rejected_connections", "\(rejectedCount)"),
            ("total_commands_processed", "\(commandCount)"),
        ]
    }

    /// Clients look for a node with `role:master`, the only one to which they send commands that
    /// write.
    private var replicationLines: [(String, String)] {
        [("role", "master"), ("connected_slaves", "0"), ("master_repl_offset", "0")]
    }

    private var clientLines: [(String, String)] {
        let ends = [Dialect.commands, .requests].compactMap { dialect in
            certificates.endUnixSeconds(of: dialect).map {
                ("certificate_expires_\(dialect.doorName)", "\($0)")
            }
        }
        return [
            ("connected_clients", "\(sessions.count)"),
            ("maxclients", "\(configuration.limits.connections)"),
        ] + ends
    }

    private var memoryLines: [(String, String)] {
        let backlog = sessions.values.reduce(0) { $0 + $1.outputByteCount }
        return [
            ("used_memory_rss", (try? ProcessStatistics.residentBytes()).map { "\($0)" } ?? "?"),
            ("client_output_backlog", "\(backlog)"),
            ("retained_program_output", "\(driver.children.outputs.byteCount)"),
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
            ("orphaned_jobs", "\(orphanedCount)"),
            ("running_children", "\(driver.children.count)"),
            ("stuck_jobs", "\(driver.stuckCount)"),
            ("stalled_queues", "\(driver.scheduler.stalledQueueCount)"),
            ("miscounts", "\(driver.scheduler.queues.miscounts.count)"),
            ("replaced_threads", "\(driver.threads.replacedCount)"),
        ]
    }

    private var threadLines: [(String, String)] {
        driver.groups.flatMap { group in
            let waiting = driver.shownWaitingCount(of: group)
            return group.members.map { member in
                let done = member.doneCount.load(ordering: .relaxed)
                let failed = member.failedCount.load(ordering: .relaxed)
                let current = member.current.withLock { $0 }
                let isStuck = current.map { driver.isStuck(JobID($0.id)) } == true
                return (
                    member.thread.name,
                    "waiting=\(waiting),running=\(current == nil ? 0 : 1),done=\(done),"
                        + "failed=\(failed),stuck=\(isStuck ? 1 : 0)"
                )
            }
        } + orphanedThreads.map { ($0.name, "orphaned=\($0.count)") }
    }

    /// The missing threads with the number of their jobs: those of no node, if nodes share threads.
    private var orphanedThreads: [(name: String, count: Int)] {
        guard let owners else { return driver.scheduler.queues.orphans.threads }
        return owners.forsakenJobCounts.sorted { $0.key < $1.key }
            .map { (name: $0.key, count: $0.value) }
    }

    /// How many jobs wait for a thread or a selector that is missing.
    var orphanedCount: Int {
        driver.scheduler.orphanedCount + (owners?.forsakenJobCounts.values.reduce(0, +) ?? 0)
    }

    /// The nodes that work together, and which of this node's threads and pools each has.
    private func nodeLines(for user: User) -> [(String, String)] {
        guard let owners else { return [] }
        let names = driver.groups.filter { user.scope.has(thread: $0.name) }
            .flatMap(\.configuration.units)
        let own = "name=\(nodeName),trusted=\(driver.store.isTrusted ? 1 : 0)"
        let all =
            [(ThreadOwner.here, own)]
            + owners.others.sorted { $0.name < $1.name }.map { (.node($0), "name=\($0.name)") }
        return all.enumerated().map { index, node in
            let threads = driver.spread.summary(
                of: names.filter { owners.owner(of: $0) == node.0 })
            return ("node\(index)", "\(node.1),threads=\(threads.joined(separator: " "))")
        }
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
