// Actions on many jobs, by both clients and on the command line.

import Kernel
import Support
import Testing
import WorkerClient

@Suite(.timeLimit(.minutes(2)))
struct `An operation on many jobs` {
    @Test func `is counted, begun and awaited by both clients`() async throws {
        let daemon = try TestDaemon()
        let client = try WorkerClient(daemon.address)
        for number in 1...3 {
            _ = try? client.performAndWait(
                onThread: "images", selector: "fail", payload: Array("port 8\(number)".utf8))
        }
        let groups = try client.failures()
        #expect(groups.map(\.reason) == ["port #"] && groups.first?.count == 3)
        #expect(groups.first?.newest == 3 && groups.first?.failure == "port 83")
        let asynchronous = try await AsyncWorkerClient.connect(to: daemon.address)
        let closed = try await asynchronous.failures(where: JobConditions(reason: "port 1"))
        #expect(closed == groups)
        let conditions = JobConditions(selector: "fail", reason: "port #")
        let count = try await asynchronous.count(of: .drop, where: conditions)
        #expect(count.count == 3 && count.upTo == 3)
        let run = try client.begin(.drop, where: conditions, upTo: 2)
        #expect(run.action == "drop" && run.upTo == 2)
        let ended = try client.bulkRun(run.id, waiting: .seconds(60))
        #expect(!ended.isRunning && ended.done == 2 && ended.changed == 0 && ended.error == nil)
        #expect(try client.count(of: .drop, where: conditions).count == 1)
        let second = try await asynchronous.begin(.retry, thread: "images", state: .failed)
        #expect(try await asynchronous.bulkRun(second.id, waiting: .seconds(60)).done == 1)
        #expect(try await asynchronous.bulkRuns().map(\.id) == [second.id, run.id])
        #expect(try client.stopBulkRun(run.id).isRunning == false)
        #expect(throws: WorkerClientError.self) { try client.bulkRun(7) }
        #expect(throws: WorkerClientError.self) { try client.begin(.cancel) }
        asynchronous.close()
    }

    @Test func `on the command line is counted first, and wants a yes`() throws {
        let daemon = try TestDaemon()
        for _ in 0..<3 {
            _ = try daemon.workerctl("perform", "images", "fail", "disk 7 full", "--wait")
        }
        let failures = try daemon.workerctl("failures")
        #expect(failures.text.contains("disk # full") && failures.status == 0)
        let json = try daemon.workerctl("failures", "--json").json().elements ?? []
        #expect(json.first?["count"]?.number == 3 && json.first?["reason"]?.text == "disk # full")
        let dry = try daemon.workerctl("bulk", "drop", "--selector", "fail", "--dry-run")
        #expect(dry.text == "would drop 3 jobs\n" && dry.status == 0)
        // No terminal, and no yes: nothing happens.
        let unasked = try daemon.workerctl("bulk", "drop", "--selector", "fail")
        #expect(unasked.status == 64 && unasked.errors.contains("--yes"))
        #expect(try daemon.workerctl("bulk", "drop", "--yes").status == 65)
        #expect(try daemon.workerctl("bulk", "paint", "--yes").status == 64)
        let dropped = try daemon.workerctl(
            "bulk", "drop", "--reason", "disk 9 full", "--limit", "2", "--yes")
        #expect(dropped.text == "dropped 2 jobs\n" && dropped.status == 0, "\(dropped.errors)")
        let rest = try daemon.workerctl("bulk", "drop", "--selector", "fail", "--yes", "--json")
        #expect(try rest.json()["done"]?.number == 1)
        #expect(try daemon.workerctl("failures", "--json").json().elements?.isEmpty == true)
    }

    @Test(arguments: [("y\n", "dropped 1 job"), ("n\n", nil), ("\n", nil)] as [(String, String?)])
    func `on a terminal is asked about`(answer: String, end: String?) throws {
        let daemon = try TestDaemon()
        _ = try daemon.workerctl("perform", "images", "fail", "no", "--wait")
        // script(1) gives the program a terminal, and passes its input and output on.
        let program = try product("workerctl")
        var command = ChildCommand(
            program: "/usr/bin/script",
            arguments: ["-qec", "'\(program)' bulk drop --selector fail", "/dev/null"])
        command.environment = [
            "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", "WORKERD_SOCKET": daemon.socket,
        ]
        var child = try ChildProcess.spawn(command)
        guard let input = child.takeInput(), let output = child.takeOutput() else {
            throw Unexpected("no pipes")
        }
        try input.write(everything: Array(answer.utf8))
        let shown = String(
            decoding: try output.readEverything("output", atMost: 1 << 20), as: UTF8.self)
        try waitUntilReady(child.endDescriptor.number)
        _ = child.reap()
        #expect(shown.contains("drop 1 job? [y/N]"), "\(shown)")
        #expect(shown.contains("dropped") == (end != nil), "\(shown)")
        let left = try daemon.workerctl("failures", "--json").json().elements
        #expect(left?.isEmpty == (end != nil))
    }
}
