// Servers that a client does not speak to.

import Glibc
import Kernel
import Support
import Testing

@Suite(.timeLimit(.minutes(2)))
struct `A client` {
    private static func run(_ home: String, _ arguments: [String]) throws -> CommandLineRun {
        try CommandLineRun(arguments, environment: ["XDG_RUNTIME_DIR": home])
    }

    @Test func `takes no usual socket in a directory to which others may write`() throws {
        let scratch = try Scratch()
        let directory = scratch.file("workerd")
        try #require(unsafe mkdir(directory, 0o700) == 0)
        let daemon = try TestDaemon()
        try #require(unsafe symlink(daemon.socket, "\(directory)/workerd.sock") == 0)
        let own = try Self.run(scratch.path, ["ping"])
        #expect(own.status == 0, "\(own.errors)")
        try File.setMode(0o777, of: directory)
        let shared = try Self.run(scratch.path, ["ping"])
        #expect(shared.status == 69)
        #expect(shared.errors.contains("others may write to \(directory)"), "\(shared.errors)")
        #expect(shared.errors.contains("--socket"))
        // A socket that is named is the caller's choice.
        let named = try Self.run(scratch.path, ["ping", "--socket", daemon.socket])
        #expect(named.status == 0, "\(named.errors)")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can run a server as another user"))
    func `sends nothing to a server of another user unless told to trust it`() throws {
        let scratch = try Scratch()
        try File.setMode(0o777, of: scratch.path)
        let path = scratch.file("s")
        var command = ChildCommand(
            program: "/usr/bin/setpriv",
            arguments: [
                "--reuid=65534", "--clear-groups", "/usr/bin/perl", "-MSocket", "-e",
                """
                $SIG{PIPE} = 'IGNORE';
                socket(S, AF_UNIX, SOCK_STREAM, 0) && bind(S, pack_sockaddr_un($ARGV[0])) || die;
                listen(S, 5) || die; print "ready\\n"; close STDOUT;
                while (accept(C, S)) { sysread(C, $b, 999); open(F, '>', "$ARGV[0].read");
                    print F "<$b>"; close F; print C "+OK\\r\\n"; close C }
                """, path,
            ])
        command.environment = ["PATH": "/usr/bin:/bin"]
        var child = try ChildProcess.spawn(command)
        child.closeInput()
        defer { try? child.signalGroup(.kill) }
        guard let output = child.takeOutput() else { throw Unexpected("no output") }
        _ = try output.readEverything("output", atMost: 100)
        let read = {
            String(decoding: (try? File.read("\(path).read", atMost: 999)) ?? [], as: UTF8.self)
        }
        let refused = try Self.run("", ["ping", "--socket", path])
        #expect(refused.status == 69)
        #expect(refused.errors.contains("runs as uid 65534"), "\(refused.errors)")
        #expect(refused.errors.contains("--trust-user 65534"), "\(refused.errors)")
        #expect(["", "<>"].contains(read()))
        let trusted = try Self.run("", ["ping", "--socket", path, "--trust-user", "65534"])
        #expect(!trusted.errors.contains("uid 65534"), "\(trusted.errors)")
        #expect(read().contains("HELLO"))
    }
}
