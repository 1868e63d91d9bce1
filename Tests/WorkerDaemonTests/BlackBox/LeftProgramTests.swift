// Programs that run when the daemon is killed: they do not run beside what the next daemon starts.

import Glibc
import Kernel
import RESP
import Support
import Testing

@Suite struct `Programs of a daemon that was killed` {
    /// Says who runs, with a child of its own and one that has left for a session of its own.
    private static let busy =
        "echo $WORKERD_ATTEMPT >> tries; if [ $WORKERD_ATTEMPT = 1 ]; then "
        + "sleep 3600 & echo $! > child; "
        + "setsid sh -c 'echo $$ > gone; exec sleep 3600' & "
        + "echo $$ > leader; wait; fi"

    private static func setup(_ store: Setup) -> Setup {
        var setup = store
        setup.selectors =
            "busy: { program: [\"sh\", \"-c\", \"\(busy)\"], directory: \"$DIR\" },"
        return setup
    }

    /// - Returns: the leader of the program's group, its child, and the one that has left.
    private static func startBusy(_ daemon: TestDaemon, _ scratch: Scratch) throws -> [Int] {
        _ = try daemon.connect().perform("images", "busy", "x")
        return try ["leader", "child", "gone"].map { try scratch.processID(in: $0) }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [Setup.durable, Setup()])
    func `are killed before the next one runs a job`(_ store: Setup) throws {
        let scratch = try Scratch()
        let setup = Self.setup(store)
        let first = try TestDaemon(setup, in: scratch)
        defer { first.kill() }
        let left = try Self.startBusy(first, scratch)
        defer { for process in left { _ = kill(pid_t(process), SIGKILL) } }
        try first.crash()
        #expect(left.allSatisfy(isRunning))

        let second = try TestDaemon(setup, in: scratch, logName: "log2")
        defer { second.kill() }
        // Before the door opens to a client, and before the job's second attempt.
        #expect(left.map(isRunning) == [false, false, true])
        #expect(second.log.contains("killed what was left of programs"))
        let client = try second.connect()
        if store.store == Setup.durable.store {
            #expect(try client.call("RESULT", 1, "WAIT").text == "")
            #expect(scratch.read("tries") == "1\n2\n")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [Setup.durable, Setup()])
    func `are killed also if they cleared their environment`(_ store: Setup) throws {
        // The child has neither its leader's standard input nor an environment: it has its group.
        let script =
            "sleep 3600 < /dev/null & echo $! > child; "
            + "setsid sh -c 'echo $$ > gone; exec sleep 3600' & echo $$ > leader; wait"
        let scratch = try Scratch()
        var setup = store
        setup.selectors =
            "busy: { program: [\"env\", \"-i\", \"sh\", \"-c\", \"\(script)\"], "
            + "directory: \"$DIR\" },"
        let first = try TestDaemon(setup, in: scratch)
        defer { first.kill() }
        let left = try Self.startBusy(first, scratch)
        defer { for process in left { _ = kill(pid_t(process), SIGKILL) } }
        try first.crash()

        let second = try TestDaemon(setup, in: scratch, logName: "log2")
        defer { second.kill() }
        #expect(left.map(isRunning) == [false, false, true])
    }

    @Test(.timeLimit(.minutes(2)))
    func `are known when the store is reached through a symbolic link`() throws {
        let scratch = try Scratch()
        try Directory.create(scratch.file("real"), mode: 0o700)
        guard unsafe symlink(scratch.file("real"), scratch.file("link")) == 0 else {
            throw Unexpected("symlink: \(errno)")
        }
        var setup = Self.setup(.durable)
        setup.store = "\"$DIR/real/jobs.sqlite\""
        let first = try TestDaemon(setup, in: scratch)
        defer { first.kill() }
        let left = try Self.startBusy(first, scratch)
        defer { for process in left { _ = kill(pid_t(process), SIGKILL) } }
        try first.crash()
        setup.store = "\"$DIR/link/jobs.sqlite\""
        let second = try TestDaemon(setup, in: scratch, logName: "log2")
        defer { second.kill() }
        #expect(left.map(isRunning) == [false, false, true])
        #expect(try second.connect().call("RESULT", 1, "WAIT").text == "")
    }

    @Test(.timeLimit(.minutes(2)))
    func `are left alone by other daemons`() throws {
        let scratch = try Scratch()
        let first = try TestDaemon(Self.setup(.durable), in: scratch)
        defer { first.kill() }
        let left = try Self.startBusy(first, scratch)
        defer { for process in left { _ = kill(pid_t(process), SIGKILL) } }
        let other = try TestDaemon(Self.setup(.durable), in: Scratch())
        defer { other.kill() }
        #expect(try other.connect().call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
        #expect(left.allSatisfy(isRunning))
    }

    @Test(.timeLimit(.minutes(2)))
    func `have all of their payload`() throws {
        let script =
            "echo $$ > pid; while [ ! -e go ]; do sleep 0.01; done; wc -c > count; echo > counted"
        let scratch = try Scratch()
        let setup = Setup(
            selectors: "it: { program: [\"sh\", \"-c\", \"\(script)\"], directory: \"$DIR\" },")
        let daemon = try TestDaemon(setup, in: scratch)
        defer { daemon.kill() }
        // More than a pipe holds, so that its writer would have to live.
        let payload = [UInt8](repeating: 1, count: 2 << 20)
        _ = try daemon.connect().perform("images", "it", .bytes(payload))
        let program = try scratch.processID(in: "pid")
        defer { _ = kill(pid_t(program), SIGKILL) }
        try daemon.crash()
        try scratch.write("", to: "go")
        try eventually("the program has read to the end") { scratch.has("counted") }
        #expect(scratch.read("count") == "\(payload.count)\n")
    }
}
