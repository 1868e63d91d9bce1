// Proves children from their start to their end, with real programs.

import Glibc
import Kernel
import Support
import Testing

@Suite(.timeLimit(.minutes(2)))
struct ChildProcessTests {
    @Test func `what goes in comes out, and the end is reported once and for all`() throws {
        var child = try ChildProcess.spawn(ChildCommand(program: "/bin/cat"))
        let output = try present(child.takeOutput())
        let early = child.reap()
        #expect(early == nil)
        let hasEndedEarly = child.hasEnded
        #expect(!hasEndedEarly)
        let input = try present(child.takeInput())
        _ = try input.write(contentsOf: Array("hello".utf8))
        #expect(try read(5, from: output) == "hello")
        input.close()
        #expect(try readToEnd(output) == "")
        try waitUntilReadable(child.endDescriptor)
        let hasEnded = child.hasEnded
        let first = child.reap()
        let second = child.reap()
        #expect(hasEnded)
        #expect(first == .exited(0))
        #expect(second == .exited(0))
    }

    @Test func `output and errors are apart, and arguments arrive as they are`() throws {
        let script = "printf '%s|' \"$0\" \"$@\"; echo bad >&2; exit 3"
        let arguments = ["-c", script, "", "a b", "ü\n", "$HOME '\""]
        var child = try ChildProcess.spawn(
            ChildCommand(program: "/bin/sh", arguments: arguments))
        let output = try present(child.takeOutput())
        let errors = try present(child.takeErrors())
        #expect(try readToEnd(output) == "|a b|ü\n|$HOME '\"|")
        #expect(try readToEnd(errors) == "bad\n")
        let status = try ended(&child)
        #expect(status == .exited(3))
        #expect(status.description == "exit status 3")
        #expect(!status.isSuccess)
    }

    @Test func `a death by signal is told with the signal's name`() throws {
        var child = try shell("kill -SEGV $$")
        let status = try ended(&child)
        guard case .signalled(let signal, _) = status else {
            Issue.record("a signal ended it, but: \(status)")
            return
        }
        #expect(signal == .segmentationFault)
        #expect(status.description.hasPrefix("killed by SIGSEGV"))
    }

    @Test func `closing the input is the end for the child, closing the output an error`() throws {
        var reader = try ChildProcess.spawn(ChildCommand(program: "/bin/cat"))
        reader.closeInput()
        #expect(try ended(&reader) == .exited(0))
        var writer = try shell("while echo x; do :; done")
        _ = writer.takeOutput()
        _ = writer.takeErrors()
        // The default effect of SIGPIPE is restored in children.
        #expect(try ended(&writer) == .signalled(.brokenPipe, coreDumped: false))
    }

    @Test func `the environment is the given one or ours`() throws {
        var given = try ChildProcess.spawn(
            ChildCommand(
                program: "/usr/bin/env", environment: ["A": "1", "B": "x=y z", "C": ""]))
        let lines = try readToEnd(present(given.takeOutput())).split(separator: "\n").sorted()
        #expect(lines == ["A=1", "B=x=y z", "C="])
        var ours = try ChildProcess.spawn(ChildCommand(program: "/usr/bin/env"))
        let own = Program.inheritedEnvironment().filter { !$0.value.contains("\n") }
        let text = try readToEnd(present(ours.takeOutput()))
        let said = Set(text.split(separator: "\n").map(String.init))
        #expect(said.isSuperset(of: own.map { "\($0)=\($1)" }))
        _ = given.reap()
    }

    @Test func `the child starts in the directory asked for`() throws {
        let directory = try TestDirectory()
        var child = try ChildProcess.spawn(
            ChildCommand(
                program: "/bin/sh", arguments: ["-c", "pwd -P"], workingDirectory: directory.path))
        #expect(try readToEnd(present(child.takeOutput())) == directory.path + "\n")
    }

    @Test func `a program or a directory that is not there is named`() throws {
        let directory = try TestDirectory()
        #expect(throws: SystemError(operation: "posix_spawn /nowhere/program", errno: ENOENT)) {
            _ = try ChildProcess.spawn(ChildCommand(program: "/nowhere/program"))
        }
        #expect(throws: SystemError(operation: "chdir /nowhere", errno: ENOENT)) {
            _ = try ChildProcess.spawn(
                ChildCommand(program: "/bin/cat", workingDirectory: "/nowhere"))
        }
        let text = directory.file("text")
        try File.write(Array("no program".utf8), to: text)
        #expect(throws: SystemError(operation: "posix_spawn \(text)", errno: EACCES)) {
            _ = try ChildProcess.spawn(ChildCommand(program: text))
        }
        let script = directory.file("script")
        try directory.writeProgram("#!/nowhere/interpreter\n", to: "script")
        #expect(throws: SystemError(operation: "posix_spawn \(script)", errno: ENOENT)) {
            _ = try ChildProcess.spawn(ChildCommand(program: script))
        }
    }

    @Test(arguments: [
        ChildCommand(program: "/bin/c\0at"),
        ChildCommand(program: "/bin/cat", arguments: ["a", "b\0c"]),
        ChildCommand(program: "/bin/cat", environment: ["A": "\0"]),
        ChildCommand(program: "/bin/cat", environment: ["": "1"]),
        ChildCommand(program: "/bin/cat", environment: ["A=B": "1"]),
        ChildCommand(program: "/bin/cat", workingDirectory: "/\0tmp"),
    ])
    func `text that would not arrive whole is refused`(command: ChildCommand) {
        let number = errorNumber { () throws(SystemError) in _ = try ChildProcess.spawn(command) }
        #expect(number == EINVAL)
    }

    @Test func `the child gets three blocking streams and no other descriptor`() throws {
        let pipe = try Pipe()
        // A library that does not set close-on-exec.
        let careless = Descriptor(owning: dup(pipe.readEnd.number))
        let script = "cd /proc/self; grep -h flags fdinfo/0 fdinfo/1 fdinfo/2; ls /proc/self/fd"
        var child = try ChildProcess.spawn(
            ChildCommand(program: "/bin/sh", arguments: ["-c", script]))
        let text = try readToEnd(present(child.takeOutput()))
        let lines = text.split(separator: "\n")
        try #require(lines.count == 7, "\(text)")
        for line in lines[0..<3] {
            let digits = line.split(whereSeparator: { $0 == "\t" || $0 == " " }).last ?? ""
            let flags = try #require(CInt(digits, radix: 8))
            #expect(flags & O_NONBLOCK == 0)
        }
        // The last one is the descriptor with which ls reads the directory.
        #expect(lines[3...] == ["0", "1", "2", "3"])
        _ = consume careless
        _ = consume pipe
    }

    @Test func `our ends are non-blocking and close-on-exec`() throws {
        var child = try ChildProcess.spawn(ChildCommand(program: "/bin/cat"))
        let input = try present(child.takeInput())
        let output = try present(child.takeOutput())
        let errors = try present(child.takeErrors())
        for number in [input.number, output.number, errors.number] {
            #expect(fcntl(number, F_GETFL) & O_NONBLOCK != 0)
            #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0)
        }
        let end = child.endDescriptor.number
        #expect(fcntl(end, F_GETFD) & FD_CLOEXEC != 0)
        let again = child.takeInput() == nil
        #expect(again)
    }

    @Test func `the child blocks and ignores no signal, whatever its parent does`() throws {
        let signals: Set<Signal> = [.terminate, .interrupt, .hangUp, .user1]
        Signal.block(signals)
        defer { Signal.unblock(signals) }
        var child = try ChildProcess.spawn(
            ChildCommand(program: "/bin/cat", arguments: ["/proc/self/status"]))
        let text = try readToEnd(present(child.takeOutput()))
        for name in ["SigBlk", "SigIgn"] {
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name) })
            let bits = try #require(UInt64(line.dropFirst(name.count + 2), radix: 16))
            // posix_spawn itself ignores 32 and 33, which glibc keeps for its threads.
            let reserved: UInt64 = 1 << 31 | 1 << 32
            #expect(bits & ~reserved == 0, "\(line)")
        }
    }

    @Test func `limits hold in the child and not here`() throws {
        let before = try ResourceLimit.openDescriptors.current()
        var child = try ChildProcess.spawn(
            ChildCommand(
                program: "/bin/sh",
                arguments: ["-c", "read go; ulimit -n; ulimit -v; ulimit -Hc; ulimit -t"],
                limits: [
                    .openDescriptors: 64, .addressSpaceBytes: 256 << 20, .coreFileBytes: 0,
                    .cpuSeconds: 7,
                ]))
        let input = try present(child.takeInput())
        _ = try input.write(contentsOf: [0x0A])
        #expect(try readToEnd(present(child.takeOutput())) == "64\n262144\n0\n7\n")
        #expect(try ended(&child) == .exited(0))
        let after = try ResourceLimit.openDescriptors.current()
        #expect(before == after)
    }
}

/// Starts a shell with a script.
func shell(_ script: String) throws(SystemError) -> ChildProcess {
    try ChildProcess.spawn(ChildCommand(program: "/bin/sh", arguments: ["-c", script]))
}

/// Waits for the end of a child and reaps it.
func ended(_ child: inout ChildProcess) throws -> ChildStatus {
    try waitUntilReadable(child.endDescriptor)
    guard let status = child.reap() else { throw Unexpected("a child that still runs") }
    return status
}
