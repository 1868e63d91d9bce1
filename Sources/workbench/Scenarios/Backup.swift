// backup
//
// Question: What does a client notice of a backup under way?
// Method:   Every round starts a workerd in a fresh directory on a disk, on a Unix socket, and
//           hands it 900,000 durable jobs of 64 bytes on a paused thread, 100 outstanding. Then one
//           client hands in jobs, each when the one before is accepted, or 64 outstanding, until
//           BACKUP has answered. "backup" is the time to that answer: the copy is on the disk
//           under its name. "p50" and "longest" are the times from sending a job to its number,
//           "accepted" the rate meanwhile. "no backup" does the same for 2,000 jobs, or 50,000.
//           "file" is the size of all files before the backup.
// Units:    Microseconds, milliseconds, jobs per second, MiB.

internal import CMeasure
internal import Glibc
internal import Kernel

extension Scenario {
    static let backup = Scenario(
        name: "backup",
        question: "What does a client notice of a backup under way?",
        note: "900,000 waiting jobs; no backup: the same client and file, undisturbed",
        metrics: [
            Metric(name: "p50", unit: "µs"),
            Metric(name: "longest", unit: "µs"),
            Metric(name: "accepted", unit: "per second", isRate: true),
            Metric(name: "backup", unit: "ms"),
            Metric(name: "file", unit: "MiB"),
        ],
        cases: BackupShape.all.flatMap { $0.cases }, tracedOperations: nil)
}

/// The jobs that one client has outstanding during a backup.
struct BackupShape: Sendable {
    let outstanding: Int
    /// How many jobs the client hands in when there is no backup.
    let undisturbedCount: Int

    static let serial = BackupShape(outstanding: 1, undisturbedCount: 2_000)
    static let pipelined = BackupShape(outstanding: 64, undisturbedCount: 50_000)
    static let all = [serial, pipelined]

    var group: String { "1 client × \(outstanding)" }

    var cases: [Case] {
        [(Contender.ours, true), (Contender.undisturbed, false)].map { name, hasBackup in
            Case(
                group: group, contender: name, operations: 900_000, quickOperations: 2_000,
                isTraced: false
            ) { count, _ in try measure(count, hasBackup) }
        }
    }

    private func measure(_ count: Int, _ hasBackup: Bool) throws -> Sample {
        var sample = Sample()
        let server = try StoringServer(.workerd)
        try DurableShape.pause(server)
        try StoreLoad(server, clientCount: 1, outstanding: 100).run(count)
        sample.values["file"] = Double(server.fileBytes) / 1_048_576
        let load = try StoreLoad(server, clientCount: 1, outstanding: outstanding)
        var latencies: [Int64] = []
        let asker = try Asker(server)
        let begin = nanoseconds()
        if hasBackup {
            try asker.send(["BACKUP", "copy.sqlite"])
            repeat {
                try load.run(outstanding)
                latencies += load.latencies
            } while try !asker.hasReply()
            _ = try asker.next()
            sample.values["backup"] = Double(nanoseconds() - begin) / 1_000_000
        } else {
            try load.run(min(count, undisturbedCount))
            latencies = load.latencies
        }
        let duration = nanoseconds() - begin
        sample.values["p50"] = percentile(50, of: latencies) / 1_000
        sample.values["longest"] = percentile(100, of: latencies) / 1_000
        sample.values["accepted"] = Double(latencies.count) * 1e9 / Double(duration)
        try server.stop()
        sample.hash = UInt64(count)
        return sample
    }
}
