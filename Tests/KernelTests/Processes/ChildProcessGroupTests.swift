// Proves the rule of process ids: whole groups are signalled, and only while the leader keeps the
// id; and that nothing is left behind.

import Glibc
import Kernel
import Support
import Testing

@Suite(.timeLimit(.minutes(2)))
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
        // The id may belong to another process now: nothing is signalled any more.
        try child.signalGroup(.kill)
        _ = try input.write(contentsOf: Array("still".utf8))
        #expect(try read(5, from: output) == "still")
        input.close()
        #expect(try readToEnd(output) == "")
    }

    @Test func `an ended leader keeps its group's id until it is reaped`() throws {
        var child = try shell("exit 0")
        try waitUntilReadable(child.endDescriptor)
        // A zombie can still be signalled.
        try child.signalGroup(.terminate)
        let before = errorNumber { () throws(SystemError) in
            try Signal.terminate.send(toProcess: child.processID)
        }
        #expect(before == 0)
        #expect(try ended(&child) == .exited(0))
        // Just after, the id is free: ids are given out in turn.
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

    @Test func `children leave no descriptor and no zombie behind, nor do failures`() throws {
        let run = try ProgramRun(built: "ProgramDescriptors", ["children-and-failures"])
        #expect(run.status == .exited(0), "\(run.output)")
    }

    @Test func `three pipes are room enough for a child that has been started`() throws {
        let run = try ProgramRun(built: "ProgramDescriptors", ["child-with-six-left"])
        #expect(run.status == .exited(0), "\(run.output)")
    }

    @Test func `a program without standard streams starts children that have theirs`() throws {
        let run = try ProgramRun(built: "ProgramDescriptors", ["child-without-streams"])
        #expect(run.status == .exited(0), "\(run.output)")
    }
}
