// The rule about process ids: whole groups are signalled, and only while the leader keeps the id;
// and what is left behind: nothing.

import Glibc
import Kernel
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ChildProcessGroupTests {
    @Test func `the child leads a group of its own`() throws {
        var child = try shell("echo $$; cut -d' ' -f5 /proc/self/stat")
        let lines = try readToEnd(present(child.takeOutput())).split(separator: "\n")
        let processID = child.processID
        #expect(lines == ["\(processID)", "\(processID)"])
        #expect(processID != Int(getpgrp()))
    }

    @Test func `a signal reaches what the child started too`() throws {
        var child = try shell("sleep 1000 & echo ready; wait")
        let output = try present(child.takeOutput())
        #expect(try read(6, from: output) == "ready\n")
        try child.signalGroup(.terminate)
        // Both hold the pipe: it ends when both are gone.
        #expect(try readToEnd(output) == "")
        #expect(try ended(&child) == .signalled(.terminate, coreDumped: false))
    }

    @Test func `reaping kills what the child left running`() throws {
        var child = try shell("sleep 1000 & echo ready")
        let output = try present(child.takeOutput())
        #expect(try read(6, from: output) == "ready\n")
        try waitUntilReadable(child.endDescriptor)
        var bytes: [UInt8] = []
        let before = try output.read(appendingTo: &bytes, atMost: 1)
        #expect(before == .wouldBlock)
        #expect(try ended(&child) == .exited(0))
        #expect(try readToEnd(output) == "")
    }

    @Test func `reaping can leave alone what the child left running`() throws {
        var child = try shell("exec 3<&0; cat <&3 & echo ready")
        let output = try present(child.takeOutput())
        let input = try present(child.takeInput())
        #expect(try read(6, from: output) == "ready\n")
        try waitUntilReadable(child.endDescriptor)
        let status = child.reap(leavingGroup: true)
        #expect(status == .exited(0))
        _ = try input.write(contentsOf: Array("alive".utf8))
        #expect(try read(5, from: output) == "alive")
        // The id may be somebody else's now: nothing is signalled any more.
        try child.signalGroup(.kill)
        _ = try input.write(contentsOf: Array("still".utf8))
        #expect(try read(5, from: output) == "still")
        input.close()
        #expect(try readToEnd(output) == "")
    }

    @Test func `an ended leader keeps its group's id until it is reaped`() throws {
        var child = try shell("exit 0")
        try waitUntilReadable(child.endDescriptor)
        // A zombie is still there to be signalled.
        try child.signalGroup(.terminate)
        let before = errorNumber { () throws(SystemError) in
            try Signal.terminate.send(toProcess: child.processID)
        }
        #expect(before == 0)
        #expect(try ended(&child) == .exited(0))
        // Just after, nobody has the id yet: ids are given out in turn.
        let after = errorNumber { () throws(SystemError) in
            try Signal.terminate.send(toProcess: child.processID)
        }
        #expect(after == ESRCH)
    }

    @Test func `letting go of a child kills its group and leaves no zombie`() throws {
        let output: Descriptor
        let processID: Int
        do {
            var child = try shell("sleep 1000 & echo ready; wait")
            output = try present(child.takeOutput())
            processID = child.processID
            #expect(try read(6, from: output) == "ready\n")
        }
        #expect(try readToEnd(output) == "")
        #expect(try File.kind(of: "/proc/\(processID)") == nil)
    }

    @Test func `a child that somebody else collected is no riddle`() throws {
        var child = try shell("exit 5")
        try waitUntilReadable(child.endDescriptor)
        var status: CInt = 0
        let collected = unsafe waitpid(pid_t(child.processID), &status, 0)
        #expect(Int(collected) == child.processID)
        let hasEnded = child.hasEnded
        let outcome = child.reap()
        #expect(hasEnded)
        #expect(outcome == .unknown)
        #expect(outcome?.description == "exit status unknown")
    }

    @Test func `children leave no descriptor and no zombie behind, nor do failures`() async {
        await #expect(processExitsWith: .success) {
            let before = try ProcessStatistics.openDescriptorCount()
            for round in 0..<20 {
                var child = try ChildProcess.spawn(ChildCommand(program: "/bin/true"))
                if round % 2 == 0 {
                    try waitUntilReadable(child.endDescriptor)
                    if child.reap() != .exited(0) { exit(EXIT_FAILURE) }
                }
                let number = errorNumber { () throws(SystemError) in
                    _ = try ChildProcess.spawn(ChildCommand(program: "/nowhere"))
                }
                if number != ENOENT { exit(EXIT_FAILURE) }
            }
            let after = try ProcessStatistics.openDescriptorCount()
            let anyChild = waitpid(-1, nil, WNOHANG)
            // The test's harness opens one or two meanwhile; a leak would be of twenty or more.
            exit(after < before + 10 && anyChild == -1 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test func `three pipes are room enough for a child that has been started`() async {
        await #expect(processExitsWith: .success) {
            // The rest is taken.
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            unsafe setrlimit(CInt(RLIMIT_NOFILE.rawValue), &limit)
            var last = dup(0)
            for _ in 0..<64 {
                let number = dup(0)
                if number >= 0 { last = number }
            }
            for number in (last - 5)...last { close(number) }
            var child = try ChildProcess.spawn(ChildCommand(program: "/bin/true"))
            try waitUntilReadable(child.endDescriptor)
            exit(child.reap() == .exited(0) ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test func `a program without standard streams starts children that have theirs`() async {
        await #expect(processExitsWith: .success) {
            for number: CInt in 0...2 { close(number) }
            var child = try ChildProcess.spawn(
                ChildCommand(program: "/bin/sh", arguments: ["-c", "cat; cat <&0 >&2"]))
            let input = try present(child.takeInput())
            let output = try present(child.takeOutput())
            _ = try input.write(contentsOf: Array("hello".utf8))
            input.close()
            let text = try readToEnd(output)
            let status = try ended(&child)
            exit(text == "hello" && status == .exited(0) ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }
}
