// Processes found by their environment.

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
        // That it was started does not say yet that the kernel has its environment.
        guard let output = child.takeOutput() else { throw Unexpected("no output") }
        try waitUntilReady(output.number)
        return child
    }

    private func found(_ value: String) throws -> [Int] {
        var found: [Int] = []
        try RunningProcess.forEach(with: "KERNEL_TESTS_MARK") { process, its in
            if its == value { found.append(process.processID) }
        }
        return found
    }

    @Test(.timeLimit(.minutes(20)))
    func `is found by a variable, has a session, and is killed`() throws {
        let value = "a=b, \(getpid())"
        var child = try start(value)
        #expect(try found(value) == [child.processID])
        #expect(try found("a=b") == [])
        #expect(RunningProcess.session(of: child.processID) == RunningProcess.session(of: 0))
        var isGone = false
        try RunningProcess.forEach(with: "KERNEL_TESTS_MARK") { process, its in
            if its == value { isGone = process.kill(timeoutMilliseconds: 60_000) }
        }
        #expect(isGone)
        #expect(child.reap() == .signalled(.kill, coreDumped: false))
        #expect(try found(value) == [])
    }
}
