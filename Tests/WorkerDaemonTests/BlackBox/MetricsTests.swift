// The figures for Prometheus: each is counted, and promtool reads the page.

import Kernel
import RESP
import Support
import Testing
import WorkerDaemon

@Suite struct `The figures for Prometheus` {
    private static let setup = Setup(
        threads: "images: {}, mail: { count: 2 }", selectors: "turn: { worker: true }",
        listen: Setup.http.listen, store: Setup.memory)

    /// The series of a page, by name and labels.
    private func series(_ daemon: TestDaemon) throws -> [String: Double] {
        let page = try daemon.connectHTTP().get("/metrics")
        #expect(page.fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
        var series: [String: Double] = [:]
        for line in page.text.split(separator: "\n") where !line.hasPrefix("#") {
            let halves = line.split(separator: " ")
            series[String(halves[0])] = Double(halves[1])
        }
        return series
    }

    @Test(.timeLimit(.minutes(2))) func `has every configured series from 0 on`() throws {
        try withDaemon(Self.setup) { daemon in
            let found = try series(daemon)
            for pool in ["images", "mail"] {
                for name in [
                    "waiting_jobs", "held_jobs", "running_jobs", "oldest_waiting_job_age_seconds",
                    "longest_running_job_age_seconds", "thread_busy_seconds_total",
                    "job_wait_seconds_count",
                ] {
                    #expect(found["workerd_\(name){pool=\"\(pool)\"}"] == 0, "\(name)")
                }
            }
            for selector in ["echo", "turn"] {
                for outcome in ["done", "failed", "timed-out", "cancelled"] {
                    let labels = "{selector=\"\(selector)\",outcome=\"\(outcome)\"}"
                    #expect(found["workerd_attempts_total\(labels)"] == 0)
                }
                #expect(found["workerd_job_run_seconds_count{selector=\"\(selector)\"}"] == 0)
            }
            #expect(found["workerd_threads{pool=\"mail\",state=\"idle\"}"] == 2)
            #expect(found["workerd_threads{pool=\"mail\",state=\"stuck\"}"] == 0)
            #expect(found["workerd_jobs_refused_total{reason=\"full\"}"] == 0)
            #expect(found["workerd_store_writable"] == 1)
            #expect(found["workerd_connections{door=\"http\"}"] == 1)
            for name in [
                "workerd_delayed_jobs", "workerd_jobs_accepted_total", "workerd_retries_total",
                "workerd_schedule_next_due_timestamp_seconds", "workerd_store_commit_seconds_count",
            ] {
                #expect(found[name] == 0, "\(name)")
            }
            for name in [
                "process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds",
                "process_max_fds", "process_start_time_seconds", "workerd_loop_lag_seconds_count",
            ] {
                #expect((found[name] ?? 0) > 0, "\(name)")
            }
        }
    }

    @Test(.timeLimit(.minutes(2))) func `counts jobs and their attempts`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            for _ in 0..<3 { _ = try client.call("PERFORM", "images", "echo", "WAIT", "x") }
            _ = try client.call("PERFORM", "images", "fail", "WAIT", "no")
            _ = try client.call("PERFORM", "images", "sleep", "TIMEOUT", 1, "WAIT", "60000")
            #expect(try client.call("PERFORM", "nowhere", "echo", "x").errorWord == "NOTHREAD")
            let id = try client.perform("images", "sleep", "600000")
            try client.waitUntil(id, is: "running")
            let waiting = try client.perform("images", "echo", "x")
            _ = try client.perform("images", "echo", "DELAY", 600_000, "x")
            let found = try series(daemon)
            let echo = "selector=\"echo\",outcome=\"done\""
            #expect(found["workerd_attempts_total{\(echo)}"] == 3)
            let failed = "selector=\"fail\",outcome=\"failed\""
            #expect(found["workerd_attempts_total{\(failed)}"] == 1)
            let late = "selector=\"sleep\",outcome=\"timed-out\""
            #expect(found["workerd_attempts_total{\(late)}"] == 1)
            #expect(found["workerd_job_run_seconds_count{selector=\"echo\"}"] == 3)
            #expect(found["workerd_job_run_seconds_bucket{selector=\"echo\",le=\"+Inf\"}"] == 3)
            #expect(found["workerd_job_wait_seconds_count{pool=\"images\"}"] == 5)
            #expect(found["workerd_running_jobs{pool=\"images\"}"] == 1)
            #expect(found["workerd_waiting_jobs{pool=\"images\"}"] == 1)
            #expect(found["workerd_delayed_jobs"] == 1)
            #expect(found["workerd_threads{pool=\"images\",state=\"running\"}"] == 1)
            #expect(found["workerd_jobs_refused_total{reason=\"no-thread\"}"] == 1)
            #expect(found["workerd_jobs_ended_total{outcome=\"failed\"}"] == 2)
            try eventually("its age grows") {
                let found = try series(daemon)
                return (found["workerd_oldest_waiting_job_age_seconds{pool=\"images\"}"] ?? 0) > 0
                    && (found["workerd_longest_running_job_age_seconds{pool=\"images\"}"] ?? 0) > 0
            }
            for id in [waiting, id] { _ = try client.call("CANCEL", .integer(id)) }
        }
    }

    @Test(.timeLimit(.minutes(2)), .enabled(if: hasPromtool))
    func `pass the check of Prometheus`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PERFORM", "images", "echo", "WAIT", "x")
            let page = try daemon.connectHTTP().get("/metrics").text
            try daemon.scratch.write(page, to: "metrics")
            let run = try ProgramRun(
                "/bin/sh", ["-c", "promtool check metrics <\"$0\"", daemon.scratch.file("metrics")])
            #expect(run.status == .exited(0), "\(run.output)")
        }
    }

    @Test(.timeLimit(.minutes(2))) func `tell of jobs that wait without a worker`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            for thread in ["images", "mail"] {
                _ = try client.call("PERFORM", .text(thread), "turn", "x")
            }
            try eventually("both wait") {
                let found = try series(daemon)
                return ["images", "mail"].allSatisfy {
                    found["workerd_awaiting_worker_jobs{pool=\"\($0)\"}"] == 1
                }
            }
            #expect(try series(daemon)["workerd_workers{selector=\"turn\"}"] == 0)
            let worker = try daemon.connect()
            _ = try worker.call("TAKE", "FROM", "turn")
            #expect(try series(daemon)["workerd_workers{selector=\"turn\"}"] == 1)
        }
    }

    @Test(.timeLimit(.minutes(2)), .enabled(if: hasPromtool))
    func `have alerts that ring when they should`() throws {
        let scratch = try Scratch()
        for (path, name) in [
            ("Config/alerts.yml", "rules.yml"), ("Tests/Fixtures/alerts.yml", "test.yml"),
        ] {
            try File.write(try repositoryFile(path), to: scratch.file(name))
        }
        for arguments in ["check rules rules.yml", "test rules test.yml"] {
            let run = try ProgramRun(
                "/bin/sh", ["-c", "cd \"$0\" && promtool \(arguments)", scratch.path])
            #expect(run.status == .exited(0), "\(run.output)")
        }
    }

    @Test func `have at most 500 label sets, then others`() {
        let names = (0..<600).map { "n\($0)" }
        let all = LabelValues(names)
        #expect(all.all.count == 500)
        #expect(all.all.last == "other")
        #expect(all.place(of: 498) == 498)
        #expect(all.place(of: 499) == 499)
        #expect(all.place(of: 599) == 499)
        #expect(LabelValues(Array(names.prefix(500))).all.last == "n499")
        #expect(LabelValues(names, factor: 8).all.count == 62)
    }

    @Test func `have histograms whose buckets add up`() {
        var histogram = ClassicHistogram()
        for seconds in [-1, 0, 0.001, 0.0011, 3, 8_000] { histogram.note(seconds: seconds) }
        var page = MetricsText()
        page.family("f", .histogram, "help")
        page.histogram("f", [("pool", "a\"b\\c\nd")], histogram)
        let lines = page.text.split(separator: "\n")
        #expect(lines[1] == "# TYPE f histogram")
        #expect(lines.contains(#"f_bucket{pool="a\"b\\c\nd",le="0.001"} 3"#))
        #expect(lines.contains(#"f_bucket{pool="a\"b\\c\nd",le="0.0025"} 4"#))
        #expect(lines.contains(#"f_bucket{pool="a\"b\\c\nd",le="7200"} 5"#))
        #expect(lines.contains(#"f_bucket{pool="a\"b\\c\nd",le="+Inf"} 6"#))
        #expect(lines.contains(#"f_count{pool="a\"b\\c\nd"} 6"#))
    }
}

/// Whether promtool is installed; `.ci/run` installs it.
private let hasPromtool = (try? File.kind(of: "/usr/bin/promtool")) != nil
