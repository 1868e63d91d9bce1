// Proves that processes are found by their environment and by their input.

import Glibc
import Kernel
import Support
import Testing

@Suite struct `A running process` {
    private func start(_ value: String) throws -> ChildProcess {
        var child = try ChildProcess.spawn(
            ChildCommand(
                program: "/bin/sh", arguments: ["-c", "echo; read answer"],
                environment: ["KERNEL_TESTS_MARK": value]))
        // A started process need not have its environment in the kernel yet.
        guard let output = child.takeOutput() else { throw Unexpected("no output") }
        try waitUntilReady(output.number)
        return child
    }

    private func found(_ value: String) throws -> [Int] {
        var found: [Int] = []
        try RunningProcess.forEach { process in
            let its = process.value(of: "KERNEL_TESTS_MARK")
            if its == value { found.append(process.processID) }
        }
        return found
    }

    @Test(.timeLimit(.minutes(2)))
    func `is found by a variable, has a session, and is killed`() throws {
        let value = "a=b, \(getpid())"
        var child = try start(value)
        #expect(try found(value) == [child.processID])
        #expect(try found("a=b") == [])
        #expect(RunningProcess.session(of: child.processID) == RunningProcess.session(of: 0))
        var isGone = false
        try RunningProcess.forEach { process in
            let its = process.value(of: "KERNEL_TESTS_MARK")
            if its == value { isGone = process.kill(timeoutMilliseconds: 60_000) }
        }
        #expect(isGone)
        #expect(child.reap() == .signalled(.kill, coreDumped: false))
        #expect(try found(value) == [])
    }

    @Test(.timeLimit(.minutes(2)))
    func `is known by the file in memory that it reads, and has a group`() throws {
        let label = "kernel tests (deleted) \(getpid())"
        var child = try ChildProcess.spawn(
            ChildCommand(program: "/bin/sleep", arguments: ["3600"]),
            reading: try File.inMemory([], label: label))
        var found: [Int] = []
        var groups: [Int?] = []
        try RunningProcess.forEach { process in
            guard process.labelOfInput == label else { return }
            found.append(process.processID)
            groups.append(process.group)
        }
        #expect(found == [child.processID])
        #expect(groups == [child.processID])
        try child.signalGroup(.kill)
        #expect(try ended(&child) == .signalled(.kill, coreDumped: false))
    }
}
