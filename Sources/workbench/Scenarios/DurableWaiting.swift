// The part of `durable` with a million waiting jobs.
//
// Method:   A server gets a million jobs of 64 bytes, 100 outstanding. workerd gets them on a
//           paused thread; all but a thousandth of them, because a million is its limit of jobs
//           that have not ended, and the rest of the round needs room. beanstalkd gets them without
//           syncs, which would take minutes. "memory growth" is that of its resident memory from
//           before the first job to after the last, "file" the growth of all files in its
//           directory, logs included.
//
//           Then kill -9. "restart" is from starting it on its files to the first answer (PING;
//           list-tube-used; a statement prepared), "restart accepted" to the answer to the first
//           job, "restart cpu" the time that its processes were on a cpu by the first answer.
//           workerd's thread is not paused any more then: it works meanwhile. "exit" is from
//           SIGTERM to the end of the process, its threads paused again, its clients gone.
//
//           "late" is measured by clients, not by the daemon, whose records have milliseconds only:
//           jobs of another thread, AT a random millisecond from 100 to 3,000 ms ahead, WAIT;
//           lateness is the time when the client has read the result, less the due time. So it
//           includes the wake-up, the run, and the way to the client. One client sends them in the
//           order in which they are due, each a commit of its own. "late, idle" is the same without
//           other waiting jobs. Its floor is the time that bare threads need to wake one another on
//           that way without any work: most of the lateness on a machine whose cpus are shared.

internal import CMeasure
internal import Foundation
internal import Kernel

enum DurableWaiting {
    static let group = "1,000,000 waiting"
    static let idleGroup = "none waiting"

    static let metrics = [
        Metric(name: "memory growth", unit: "MiB"),
        Metric(name: "memory", unit: "bytes per job"),
        Metric(name: "memory restarted", unit: "MiB"),
        Metric(name: "file", unit: "bytes per job"),
        Metric(name: "restart", unit: "ms"),
        Metric(name: "restart accepted", unit: "ms"),
        Metric(name: "restart cpu", unit: "ms"),
        Metric(name: "exit", unit: "ms"),
        Metric(name: "late p50", unit: "µs"),
        Metric(name: "late p99", unit: "µs"),
        Metric(name: "early", unit: "jobs"),
    ]

    static var cases: [Case] {
        let waiting = Store.keeping.map { store in
            Case(
                group: group, contender: store.contender, operations: 1_000_000,
                quickOperations: 2_000, isTraced: false, obstacle: store.obstacle
            ) { count, conditions in try measure(store, count, conditions) }
        }
        let idle = Case(
            group: idleGroup, contender: Contender.ours, operations: lateCount,
            quickOperations: 20, isTraced: false
        ) { count, conditions in
            var sample = Sample()
            let server = try StoringServer(.workerd)
            try measureLateness(server, min(count, lateCount), conditions, &sample)
            try server.stop()
            sample.hash = UInt64(count)
            return sample
        }
        return waiting + [idle, bareThreads]
    }

    /// The machine's own lateness for the wake-ups of `measureLateness`.
    private static var bareThreads: Case {
        Case(
            group: idleGroup, contender: Contender.floor, operations: lateCount,
            quickOperations: 20, isTraced: false
        ) { count, conditions in
            let first = nanoseconds() + 100_000_000
            let span = conditions.isQuick ? 100...300 : 100...3_000
            let deadlines = (0..<min(count, lateCount)).map { _ in
                first + Int64(Int.random(in: span)) * 1_000_000
            }.sorted()
            var lateness = [Int64](repeating: 0, count: deadlines.count)
            let result = unsafe deadlines.withUnsafeBufferPointer { deadlines in
                unsafe lateness.withUnsafeMutableBufferPointer { lateness in
                    unsafe measure_lateness_hops(
                        CInt(deadlines.count), deadlines.baseAddress, lateness.baseAddress)
                }
            }
            guard result == 0 else { throw WorkbenchError("no floor: errno \(-result)") }
            var sample = Sample()
            note(lateness.map { $0 / 1_000 }, in: &sample)
            sample.hash = UInt64(count)
            return sample
        }
    }

    /// The number of delayed jobs, chosen so that the fifth-latest is the p99.
    private static let lateCount = 500
    private static let mebibyte = 1_048_576.0

    private static func measure(
        _ store: Store, _ count: Int, _ conditions: Conditions
    ) throws -> Sample {
        let isOurs = store.contender == Contender.ours
        let waitingCount = count - count / 1_000 - 1
        var sample = Sample()
        let server = try StoringServer(store, .filling)
        try DurableShape.pause(server)
        try fill(server, waitingCount, &sample)
        if isOurs {
            try check(server, waitingCount)
            try measureLateness(server, lateCount(of: count), conditions, &sample)
        }
        try server.kill()
        let restart = try server.start()
        sample.values["restart"] = Double(restart) / 1_000_000
        sample.values["restart cpu"] = Double(server.cpuNanoseconds) / 1_000_000
        let accepted = try firstAccepted(server)
        sample.values["restart accepted"] = Double(restart + accepted) / 1_000_000
        if let resident = server.residentBytes {
            sample.values["memory restarted"] = Double(resident) / mebibyte
        }
        try DurableShape.pause(server)
        sample.values["exit"] = Double(try server.stop()) / 1_000_000
        sample.hash = UInt64(count)
        return sample
    }

    private static func fill(
        _ server: StoringServer, _ count: Int, _ sample: inout Sample
    ) throws {
        // With more, a server whose answers fill the socket would wait for a client that still
        // writes.
        let load = try StoreLoad(server, clientCount: 1, outstanding: 100)
        let files = server.fileBytes
        let resident = server.residentBytes
        try load.run(count)
        sample.values["file"] = Double(server.fileBytes - files) / Double(count)
        if let resident, let now = server.residentBytes {
            sample.values["memory growth"] = Double(now - resident) / mebibyte
            sample.values["memory"] = Double(now - resident) / Double(count)
        }
    }

    /// Checks that all of them wait: the figures mean nothing otherwise.
    private static func check(_ server: StoringServer, _ count: Int) throws {
        let waiting = try Asker(server).information("jobs", "waiting_jobs")
        guard waiting == count else { throw WorkbenchError("\(waiting) of \(count) jobs wait") }
    }

    /// Nanoseconds until a job is accepted on a new connection.
    private static func firstAccepted(_ server: StoringServer) throws -> Int64 {
        let begin = nanoseconds()
        try StoreLoad(server, clientCount: 1, outstanding: 1).run(1)
        return nanoseconds() - begin
    }

    // MARK: - Delayed jobs

    private static func lateCount(of count: Int) -> Int { min(lateCount, count / 2_000 + 10) }

    private static func measureLateness(
        _ server: StoringServer, _ count: Int, _ conditions: Conditions, _ sample: inout Sample
    ) throws {
        let span = conditions.isQuick ? 100...300 : 100...3_000
        // Sending takes a while, too: it must be done when the first is due.
        let start = unixMicroseconds() / 1_000 + Int64(count)
        var random = SystemRandomNumberGenerator()
        let dues = (0..<count).map { _ in start + Int64(Int.random(in: span, using: &random)) }
            .sorted()
        let asker = try Asker(server)
        let payload = String(decoding: StoredPayload.bytes, as: UTF8.self)
        for due in dues {
            try asker.send(["PERFORM", "timely", "echo", "AT", "\(due)", "WAIT", payload])
        }
        // Replies come in the order of the commands, which is that of their deadlines.
        let lateness = try dues.map { due in
            _ = try asker.next()
            return unixMicroseconds() - due * 1_000
        }
        note(lateness, in: &sample)
    }

    private static func note(_ microseconds: [Int64], in sample: inout Sample) {
        sample.values["late p50"] = percentile(50, of: microseconds)
        sample.values["late p99"] = percentile(99, of: microseconds)
        sample.values["early"] = Double(microseconds.count { $0 < 0 })
    }

    private static func unixMicroseconds() -> Int64 {
        Int64((Date().timeIntervalSince1970 * 1_000_000).rounded(.down))
    }
}
