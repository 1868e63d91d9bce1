// Schedules with the clients.

import Testing
import WorkerClient

@Suite(.timeLimit(.minutes(2)))
struct `Schedules with a client` {
    private let options = ScheduleOptions(
        missed: .all, priority: .low, timeLimit: .seconds(5), key: [1, 2],
        retry: PerformOptions.Retry(count: 2, manner: .block), expiry: .seconds(60), label: "x")

    @Test func `are given, listed and ended`() throws {
        let daemon = try TestDaemon()
        let client = try WorkerClient(daemon.address)
        #expect(try client.schedules() == [])
        try client.schedule(
            "nightly", .cron("30 3 * * *", zone: "Europe/Berlin"), onThread: "mail",
            selector: "shout", payload: [0, 255], options: options)
        try client.schedule(
            "beat", .every(.seconds(3_600)), onThread: "images", selector: "echo",
            options: ScheduleOptions(overlap: .skip, uniqueName: [1, 0]))
        let listed = try client.schedules()
        #expect(listed.map(\.name) == ["beat", "nightly"])
        let (beat, nightly) = (listed[0], listed[1])
        #expect(beat.rhythm == .every(.seconds(3_600)) && beat.missed == "once")
        #expect(beat.isFromCommand && beat.nextDueAt != nil && beat.lastJob == nil)
        #expect(beat.leftOutCount == 0 && beat.lastLeftOutAt == nil)
        #expect(nightly.rhythm == .cron("30 3 * * *", zone: "Europe/Berlin"))
        #expect(nightly.thread == "mail" && nightly.selector == "shout")
        #expect(beat.overlap == "skip" && nightly.overlap == "queue")
        #expect(nightly.missed == "all" && nightly.priority == "low")
        #expect(try client.unschedule("beat"))
        #expect(try !client.unschedule("beat"))
        let refused = #expect(throws: WorkerClientError.self) {
            try client.schedule("x", .cron("0 24 * * *"), onThread: "images", selector: "echo")
        }
        #expect(word(refused) == "ERR")
    }

    @Test func `make jobs with their options`() throws {
        let daemon = try TestDaemon()
        let client = try WorkerClient(daemon.address)
        try client.schedule(
            "beat", .every(.milliseconds(10)), onThread: "images", selector: "fail",
            payload: Array("no paper".utf8), options: options)
        // Each look is a round trip.
        while try client.schedules()[0].lastJob == nil {}
        let reply = try client.command(["JOB", 1])
        #expect(reply["key"] == .bytes([1, 2]) && reply["label"] == .bytes(Array("x".utf8)))
        #expect(reply["priority"]?.text == "low")
        #expect(try client.schedules()[0].lastRunAt != nil)
    }

    @Test func `are given, listed and ended by tasks`() async throws {
        let daemon = try TestDaemon()
        let client = try await AsyncWorkerClient.connect(to: daemon.address)
        try await client.schedule(
            "beat", .every(.seconds(3_600)), onThread: "images", selector: "echo",
            options: options)
        #expect(try await client.schedules().map(\.name) == ["beat"])
        #expect(try await client.unschedule("beat"))
        #expect(try await client.schedules() == [])
        client.close()
    }
}
