// workerd with a store on a small file system of a test's own.

import Kernel
import Support
import Testing

@Suite struct `A disk that is full at the start` {
    /// A mount that only the daemon sees.
    private static let unshare = ["--user", "--map-root-user", "--mount"]

    /// Whether this machine lets a test mount a file system.
    private static var isAllowed: Bool {
        let command = ChildCommand(
            program: "/usr/bin/unshare",
            arguments: unshare + ["mount", "-t", "tmpfs", "none", "/mnt"])
        guard var child = try? ChildProcess.spawn(command) else { return false }
        _ = isReady(child.endDescriptor.number)
        return child.reap() == .exited(0)
    }

    @Test(.timeLimit(.minutes(2)), .enabled(if: isAllowed))
    func `is named, also if only the record of attempts has no room, status 69`() throws {
        let scratch = try Scratch()
        let setup = Setup(store: "\"$DIR/disk/jobs.sqlite\"")
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        try Directory.create(scratch.file("disk"))
        // The record of attempts takes two megabytes.
        let script =
            "mount -t tmpfs -o size=1m none '\(scratch.file("disk"))' && "
            + "exec '\(try productsDirectory())/workerd' --config "
            + "'\(scratch.file("workerd.json5"))'"
        let daemon = try TestDaemon(
            arguments: Self.unshare + ["sh", "-c", script], in: scratch, path: "/usr/bin/unshare")
        defer { daemon.kill() }
        #expect(try daemon.end() == "exit status 69")
        #expect(daemon.log.contains("jobs.sqlite-attempts: there is no room"), "\(daemon.log)")
    }
}
