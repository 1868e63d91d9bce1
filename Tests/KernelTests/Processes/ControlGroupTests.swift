// Control groups: where this process is, what their files say, and that all in one is killed.

import Kernel
import Support
import Testing

@Suite struct `A control group` {
    @Test(
        arguments: [
            ("0::/a/b\n", "1 2 0:3 / /cg rw - cgroup2 cgroup rw\n", "/cg/a/b"),
            ("0::/\n", "1 2 0:3 / /cg rw - cgroup2 cgroup rw\n", "/cg"),
            (
                "4:memory:/m\n0::/a\n",
                "1 2 0:3 / /v1 rw - cgroup c rw\n5 2 0:3 / /cg rw - cgroup2 c rw\n", "/cg/a"
            ),
            // In a container, the mount shows a part of the tree.
            ("0::/box/a\n", "1 2 0:3 /box /cg rw - cgroup2 cgroup rw\n", "/cg/a"),
            ("0::/box\n", "1 2 0:3 /box /cg rw - cgroup2 cgroup rw\n", "/cg"),
            ("0::/boxes\n", "1 2 0:3 /box /cg rw - cgroup2 cgroup rw\n", nil),
            ("4:memory:/m\n", "1 2 0:3 / /cg rw - cgroup2 cgroup rw\n", nil),
            ("0::/a\n", "1 2 0:3 / /v1 rw - cgroup c rw\n", nil),
            ("", "", nil),
        ] as [(String, String, String?)])
    func `is found from what the kernel tells`(
        membership: String, mounts: String, path: String?
    ) {
        #expect(ControlGroup.own(membership: membership, mounts: mounts)?.path == path)
    }

    @Test func `has files, a parent and children`() throws {
        let directory = try TestDirectory()
        let group = ControlGroup(path: directory.file("tree"))
        #expect(!group.isThere)
        try group.make()
        try group.make()
        try group.write("7", to: "cgroup.procs")
        #expect(group.isThere)
        #expect(group.parent.path == directory.path)
        try group.write("cpu memory pids", to: "cgroup.controllers")
        #expect(group.controllers == ["cpu", "memory", "pids"])
        #expect(group.enabledControllers == [])
        try group.write("oom 3\noom_kill 2", to: "memory.events")
        #expect(group.number("oom_kill", in: "memory.events") == 2)
        #expect(group.number("max", in: "memory.events") == nil)
        #expect(group.number("max", in: "memory.other") == nil)
        try group.write("0\n12\n0\n13", to: "cgroup.procs")
        #expect(group.processIDs == [12, 13])
        #expect(!group.isDelegated)
        let child = group.child("job-1-1")
        #expect(throws: SystemError.self) { try child.write("0", to: "cgroup.procs") }
        try child.make()
        #expect(group.childNames == [])
        try child.write("0", to: "cgroup.procs")
        #expect(group.childNames == ["job-1-1"])
        #expect(throws: SystemError.self) { try child.remove() }
        // No process has a number here: nothing is killed.
        child.kill()
    }

    @Test(.timeLimit(.minutes(2)), .enabled(if: canMakeControlGroups))
    func `is killed with what has left the process group and the session`() throws {
        let group = try #require(ControlGroup.own()).child(
            "kernel-tests-\(ProcessStatistics.processID)")
        try group.make()
        var child = try ChildProcess.spawn(
            ChildCommand(
                program: "/bin/sh",
                arguments: [
                    "-c", "echo 0 >$0; setsid sh -c 'echo away; exec sleep 3600' & wait",
                    group.file("cgroup.procs"),
                ]))
        guard let output = child.takeOutput() else { throw Unexpected("no output") }
        try waitUntilReady(output.number)
        let processIDs = group.processIDs
        #expect(processIDs.count >= 2)
        let others = try processIDs.filter { $0 != child.processID }.map {
            Shared(try ProcessDescriptor($0))
        }
        group.kill()
        try waitUntilReady(child.endDescriptor.number)
        #expect(child.reap() == .signalled(.kill, coreDumped: false))
        for other in others { try waitUntilReady(other.process.descriptor.number) }
        try group.remove()
        #expect(!group.isThere)
    }
}

/// A process that an array can hold.
private final class Shared {
    let process: ProcessDescriptor

    init(_ process: consuming ProcessDescriptor) { self.process = process }
}
