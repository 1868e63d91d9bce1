// workerd as the first process of a container, and in one that has no /proc.

import Glibc
import Kernel
import RESP
import Support
import Testing

@Suite struct `The first process of a container` {
    private static let unshare =
        ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]

    /// Whether this machine lets a test have a container.
    private static var isAllowed: Bool {
        let command = ChildCommand(program: "/usr/bin/unshare", arguments: unshare + ["true"])
        guard var child = try? ChildProcess.spawn(command) else { return false }
        _ = isReady(child.endDescriptor.number)
        return child.reap() == .exited(0)
    }

    @Test(.timeLimit(.minutes(2)), .enabled(if: isAllowed))
    func `collects what its programs leave behind, and ends in order`() throws {
        let scratch = try Scratch()
        var setup = Setup()
        setup.selectors = """
            leave: { program: ["sh", "-c", "setsid sh -c : & echo left"] },
            count: { program: ["sh", "-c", "grep -l '^State:.Z' /proc/[0-9]*/status | wc -l"] },
            """
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        let daemon = try TestDaemon(
            arguments: Self.unshare + [
                "\(try productsDirectory())/workerd", "--config", scratch.file("workerd.json5"),
            ],
            in: scratch, path: "/usr/bin/unshare")
        defer { daemon.kill() }
        try daemon.waitUntilListening()
        let client = try daemon.connect()
        for _ in 0..<10 {
            #expect(try client.call("PERFORM", "images", "leave", "WAIT", "").text == "left\n")
        }
        try eventually("all are collected") {
            try client.call("PERFORM", "images", "count", "WAIT", "").text == "0\n"
        }
        try client.send("SHUTDOWN")
        #expect(try daemon.end() == "exit status 0")
    }
    @Test(
        .timeLimit(.minutes(2)), .enabled(if: isAllowed),
        arguments: [("workerd", "--config x.json5"), ("workerctl", "threads")])
    func `is told that its arguments are in /proc, which it has not`(
        program: String, arguments: String
    ) throws {
        let path = "\(try productsDirectory())/\(program)"
        let script = "mount -t tmpfs none /proc && exec '\(path)' \(arguments)"
        let daemon = try TestDaemon(
            arguments: [
                "--user", "--map-root-user", "--pid", "--fork", "--mount", "sh", "-c", script,
            ],
            in: Scratch(), path: "/usr/bin/unshare")
        defer { daemon.kill() }
        #expect(try daemon.end() == "exit status 64")
        #expect(
            daemon.log.contains("\(program): the arguments can't be read: /proc is not mounted"))
    }
}
