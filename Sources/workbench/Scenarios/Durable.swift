// durable
//
// Question: What does it cost to accept a job so that no crash and no power cut loses it?
// Method:   Every round starts a server in a fresh directory on a disk, on a Unix socket. One
//           thread of this program is all clients (Durable/StoreLoad.swift); each has one
//           connection and several jobs outstanding, and sends the next as answers come. A job is
//           64 bytes. An answer counts when the server promises with it that the job is on the
//           disk: workerd answers PERFORM with the job's number (its thread is paused, so nothing
//           runs), Redis answers RPUSH (appendfsync always), beanstalkd put (-f0), PostgreSQL the
//           Sync behind a prepared INSERT … RETURNING id (fsync and synchronous_commit on; jobs
//           that are sent together are one transaction). A tenth of the jobs goes first and is not
//           measured.
//
//           The floor is a write of the bytes of one commit of ours, learnt in the same round from
//           /proc/pid/io of a workerd, and fdatasync: into space that was written before ("floor"),
//           or at the end of a file ("appended"). "least server" is a server without anything of
//           its own: one thread that writes its input, syncs and answers (CMeasure/syncserver.c).
//           "least SQLite server" is the same for workerd's design: a second thread writes the
//           input, as a row with SQLite (CMeasure/sqliteserver.c), so that the difference to
//           workerd is workerd's own.
//
//           "executed": jobs go to a thread that echoes; the time ends with the answer to one more
//           job, submitted when INFO says that all are done: its commit has their ends. "waiting":
//           see DurableWaiting.swift. "system calls" and "syncs" (fdatasync and fsync) are strace's
//           counts of the server in further rounds, 12,000 jobs less 2,000.
// Units:    Microseconds from sending to the answer, jobs per second, bytes given to write(2) per
//           job, system calls of the server per job.

internal import CMeasure
internal import Kernel

extension Scenario {
    static let durable = Scenario(
        name: "durable",
        question: "What does it cost to accept a job so that nothing loses it?",
        note: "floor: one write of a commit's bytes and fdatasync, into prewritten space; "
            + "PostgreSQL: one transaction for what is sent together",
        metrics: [
            Metric(name: "accepted", unit: "per second", isRate: true),
            Metric(name: "p50", unit: "µs"),
            Metric(name: "p99", unit: "µs"),
            Metric(name: "executed", unit: "per second", isRate: true),
            Metric(name: "written", unit: "bytes per job"),
            Metric(name: "server cpu", unit: "µs per job"),
        ] + DurableWaiting.metrics + [
            Metric(name: syncs, unit: "per job"), Scenario.systemCalls,
        ],
        cases: DurableShape.all.flatMap { $0.cases } + [DurableExecution.item]
            + DurableWaiting.cases,
        tracedOperations: 2_000, tracesServer: true,
        tracedCalls: [syncs: ["fdatasync", "fsync", "msync", "sync_file_range"]])

    private static let syncs = "syncs"
}

/// The number of clients, and of each one's outstanding jobs.
struct DurableShape: Sendable {
    let clientCount: Int
    let outstanding: Int
    /// For each contender as many as take a second or two.
    let operations: [String: Int]

    static let serial = DurableShape(
        clientCount: 1, outstanding: 1,
        operations: [
            Contender.ours: 5_000, Contender.leastServer: 5_000,
            Contender.leastSQLiteServer: 5_000, Contender.redis: 5_000,
            Contender.beanstalkd: 5_000, Contender.postgreSQL: 5_000,
        ])
    static let pipelined = DurableShape(
        clientCount: 1, outstanding: 64,
        operations: [
            Contender.ours: 200_000, Contender.leastServer: 200_000,
            Contender.leastSQLiteServer: 200_000, Contender.redis: 200_000,
            Contender.beanstalkd: 10_000, Contender.postgreSQL: 50_000,
        ])
    static let crowd = DurableShape(
        clientCount: 32, outstanding: 1,
        operations: [
            Contender.ours: 60_000, Contender.leastServer: 60_000,
            Contender.leastSQLiteServer: 60_000, Contender.redis: 40_000,
            Contender.beanstalkd: 10_000, Contender.postgreSQL: 20_000,
        ])
    static let all = [serial, pipelined, crowd]

    var group: String {
        "\(clientCount) client\(clientCount == 1 ? "" : "s") × \(outstanding)"
    }

    var cases: [Case] {
        var cases = Store.all.map { store in
            Case(
                group: group, contender: store.contender,
                operations: operations[store.contender] ?? 1_000,
                quickOperations: 10 * clientCount * outstanding, obstacle: store.obstacle
            ) { count, conditions in try measure(store, count, conditions) }
        }
        if clientCount * outstanding == 1 {
            cases.insert(contentsOf: DurableFloor.cases(group), at: 1)
        }
        return cases
    }

    private func measure(
        _ store: Store, _ count: Int, _ conditions: Conditions
    ) throws -> Sample {
        let server = try StoringServer(store, traceFile: conditions.traceFile)
        try Self.pause(server)
        var sample = Sample()
        try serve(server, count, conditions, &sample)
        try server.stop()
        sample.hash = UInt64(count)
        return sample
    }

    private func serve(
        _ server: StoringServer, _ count: Int, _ conditions: Conditions, _ sample: inout Sample
    ) throws {
        let load = try StoreLoad(server, clientCount: clientCount, outstanding: outstanding)
        if !conditions.isTraced { try load.run(count / 10 + 1) }
        let written = server.writtenBytes
        let used = server.cpuNanoseconds
        let begin = nanoseconds()
        try load.run(count)
        let duration = nanoseconds() - begin
        sample.values["accepted"] = Double(count) * 1e9 / Double(duration)
        sample.values["p50"] = percentile(50, of: load.latencies) / 1_000
        sample.values["p99"] = percentile(99, of: load.latencies) / 1_000
        let cpu = server.cpuNanoseconds - used
        sample.values["server cpu"] = Double(cpu) / 1_000 / Double(count)
        if let written, let now = server.writtenBytes {
            sample.values["written"] = Double(now - written) / Double(count)
        }
    }

    /// Lets our jobs wait, as the rivals' do.
    static func pause(_ server: StoringServer) throws {
        guard server.store.contender == Contender.ours else { return }
        try Asker(server).ask("PAUSE", "store")
    }
}

/// The cost that no server can go below.
private enum DurableFloor {
    private static let writeCount = 5_000
    private static let sampleCount = 200

    static func cases(_ group: String) -> [Case] {
        [(Contender.floor, true), (Contender.appended, false)].map { name, isPrewritten in
            Case(
                group: group, contender: name, operations: writeCount, quickOperations: 10,
                isTraced: false
            ) { count, _ in try measure(count, isPrewritten) }
        }
    }

    private static func measure(_ count: Int, _ isPrewritten: Bool) throws -> Sample {
        let byteCount = try bytesOfOneCommit()
        let directory = try StoreDirectory.create()
        defer { try? Directory.remove(directory) }
        var durations = [Int64](repeating: 0, count: count)
        let result = unsafe measure_synced_writes(
            "\(directory)/floor", CInt(count), byteCount, isPrewritten ? 1 : 0, &durations)
        guard result == 0 else { throw WorkbenchError("no floor: errno \(-result)") }
        var sample = Sample()
        sample.values["p50"] = percentile(50, of: durations) / 1_000
        sample.values["p99"] = percentile(99, of: durations) / 1_000
        sample.values["accepted"] = Double(count) * 1e9 / Double(durations.reduce(0, +))
        sample.values["written"] = Double(byteCount)
        sample.hash = UInt64(count)
        return sample
    }

    private static func bytesOfOneCommit() throws -> Int {
        let server = try StoringServer(.workerd)
        try DurableShape.pause(server)
        let load = try StoreLoad(server, clientCount: 1, outstanding: 1)
        try load.run(sampleCount)
        let before = server.writtenBytes ?? 0
        try load.run(sampleCount)
        let byteCount = ((server.writtenBytes ?? 0) - before) / sampleCount
        try server.stop()
        return byteCount
    }
}

/// Jobs that are accepted, run, and whose end is recorded.
enum DurableExecution {
    static let item = Case(
        group: "executed, 1 client × 64", contender: Contender.ours, operations: 200_000,
        quickOperations: 640
    ) { count, conditions in
        let server = try StoringServer(.workerd, traceFile: conditions.traceFile)
        let load = try StoreLoad(
            server, LineDialect.command("PERFORM", "run", "echo"), clientCount: 1,
            outstanding: 64)
        let asker = try Asker(server)
        var sample = Sample()
        if !conditions.isTraced { try execute(count / 10 + 1, load, asker) }
        let used = server.cpuNanoseconds
        let begin = nanoseconds()
        try execute(count, load, asker)
        sample.values["executed"] = Double(count) * 1e9 / Double(nanoseconds() - begin)
        let cpu = server.cpuNanoseconds - used
        sample.values["server cpu"] = Double(cpu) / 1_000 / Double(count)
        sample.hash = UInt64(count)
        try server.stop()
        return sample
    }

    private static let pauseNanoseconds: Int64 = 200_000

    private static func execute(_ count: Int, _ load: StoreLoad, _ asker: Asker) throws {
        let before = try asker.information("jobs", "total_jobs_done")
        try load.run(count)
        while try asker.information("jobs", "total_jobs_done") < before + count {
            measure_sleep(pauseNanoseconds)
        }
        // Its commit syncs the earlier writes, and writes the pending ones.
        try asker.ask("PERFORM", "store", "echo", "last")
    }
}
