// Limits of the memory of programs, and the end of all of a program with its job where it has a
// control group.

import Kernel
import RESP
import Support
import Testing

/// A program that holds so many MB in each of so many children, until it is told to end.
private func holding(_ megabytes: Int, times count: Int, before: String = "") -> String {
    """
    program: ["sh", "-c", "\(before)for i in $(seq \(count)); do \
    (head -c \(megabytes)000000 /dev/zero; while [ ! -e go ]; do sleep 0.05; done) | \
    tail >/dev/null & done; wait; echo held"],
    directory: "$DIR", timeout: "none",
    """
}

@Suite struct `The memory of programs` {

    @Test(.timeLimit(.minutes(2)))
    func `several children together exceed a limit that none of them does`() throws {
        let setup = Setup(
            selectors: """
                it: { \(holding(30, times: 3)) maxMemory: "64MB", memoryLimit: "resident" },
                """)
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let reply = try client.call("PERFORM", "images", "it", "WAIT", "")
            #expect(reply.errorWord == "FAILED")
            let message = reply.errorMessage ?? ""
            #expect(message.hasPrefix("job 1: used "), "\(message)")
            #expect(
                message.hasSuffix("more than 65536 KB, the limit of its processes together"))
            try eventually("all are gone") { try children(of: daemon.processID) == [] }
            #expect(
                daemon.log.contains(
                    "selector it: maxMemory holds for the resident memory of its process group, "
                        + "sampled every 100 ms\n"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `memory below the limit is left alone, shared pages count once`() throws {
        let setup = Setup(
            selectors: """
                it: { \(holding(10, times: 2)) maxMemory: "64MB", memoryLimit: "resident" },
                shares: {
                    program: ["sh", "-c",
                        "x=$(head -c 30000000 /dev/zero | tr '\\\\0' x); for i in 1 2 3 4 5 6; do \
                (while [ ! -e go ]; do sleep 0.05; done; :) & done; : >here; wait; echo ${#x}"],
                    directory: "$DIR", timeout: "none",
                    maxMemory: "160MB", memoryLimit: "resident",
                },
                """)
        for selector in ["it", "shares"] {
            try withDaemon(setup) { daemon in
                let client = try daemon.connect()
                try client.send("PERFORM", "images", .text(selector), "WAIT", "")
                if selector == "shares" {
                    try eventually("it has shared its memory") { daemon.scratch.has("here") }
                }
                // Time for some samples.
                #expect(try client.isSilent(forMilliseconds: 500))
                try daemon.scratch.write("", to: "go")
                #expect(try client.reply().text == (selector == "it" ? "held\n" : "30000000\n"))
            }
        }
    }

    @Test(.timeLimit(.minutes(2)), .enabled(if: hasNode))
    func `a program that reserves much address space starts`() throws {
        let setup = Setup(
            selectors: """
                it: { program: ["node", "-e", "console.log(6 * 7)"], maxMemory: "512MB" },
                old: {
                    program: ["node", "-e", "console.log(6 * 7)"], maxMemory: "512MB",
                    memoryLimit: "addressSpace",
                },
                """)
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            #expect(try client.call("PERFORM", "images", "it", "WAIT", "").text == "42\n")
            #expect(try client.call("PERFORM", "images", "old", "WAIT", "").errorWord == "FAILED")
        }
    }

    /// A directory with the files of a control group that limits memory.
    private func fakeTree(in scratch: Scratch) throws -> String {
        let tree = ControlGroup(path: scratch.file("tree"))
        try tree.make()
        try tree.write("", to: "cgroup.procs")
        try tree.write("cpu memory", to: "cgroup.controllers")
        try tree.write("memory", to: "cgroup.subtree_control")
        return tree.path
    }

    @Test(.timeLimit(.minutes(2)))
    func `a job's control group has the limit, and says that the kernel has killed for it`() throws
    {
        let scratch = try Scratch()
        let tree = try fakeTree(in: scratch)
        var setup = Setup(
            selectors: """
                it: {
                    program: ["sh", "-c",
                        "cd \(tree)/job-$WORKERD_JOB-1; cat memory.max cgroup.procs"],
                    maxMemory: "64MB",
                },
                killed: {
                    program: ["sh", "-c",
                        "cd \(tree)/job-2-1; echo oom_kill 1 >memory.events; kill -9 $$"],
                    maxMemory: "64MB", memoryLimit: "cgroup",
                },
                looked: { program: ["true"], maxMemory: "64MB", memoryLimit: "resident" },
                """)
        setup.more = "cgroup: \"\(tree)\","
        let daemon = try TestDaemon(setup, in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        #expect(try client.call("PERFORM", "images", "it", "WAIT", "").text == "67108864\n0\n")
        let killed = try client.call("PERFORM", "images", "killed", "WAIT", "")
        #expect(
            killed.errorMessage
                == "job 2: used more memory than 65536 KB, the limit of its processes together")
        _ = try client.call("PERFORM", "images", "looked", "WAIT", "")
        #expect(scratch.has("tree/job-3-1/cgroup.procs"))
        #expect(!scratch.has("tree/job-3-1/memory.max"))
        #expect(daemon.log.contains("programs run in control groups below \(tree)\n"))
        #expect(
            daemon.log.contains(
                "selector it: maxMemory holds for all its processes together, by their control "
                    + "group below \(tree)\n"))
    }

    @Test(.timeLimit(.minutes(2)))
    func `a limit that there is not is a fault, and a check says what holds`() throws {
        let scratch = try Scratch()
        var setup = Setup(
            selectors: """
                one: { program: ["true"], maxMemory: "64MB", memoryLimit: "cgroup" },
                two: { program: ["true"], maxMemory: "64MB", memoryLimit: "addressSpace" },
                """)
        setup.more = "cgroup: \"none\","
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        let file = scratch.file("workerd.json5")
        let daemon = try TestDaemon(arguments: ["--config", file], in: scratch)
        #expect(try daemon.end() == "exit status 78")
        #expect(
            daemon.log.contains(
                "selectors.one.memoryLimit is \"cgroup\", and there is none: cgroup is \"none\""))
        let check = try TestDaemon(
            arguments: ["--config", file, "--check"], in: scratch, logName: "check")
        #expect(try check.end() == "exit status 0")
        #expect(check.log.contains("warning: selectors.one.memoryLimit is \"cgroup\""))
        setup.more = "cgroup: \"\(try fakeTree(in: scratch))\","
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        let second = try TestDaemon(
            arguments: ["--config", file, "--check"], in: scratch, logName: "check2")
        #expect(try second.end() == "exit status 0")
        let output = try second.output()
        #expect(output.contains("selector one: maxMemory holds for all its processes together"))
        #expect(
            output.contains(
                "selector two: maxMemory holds for the address space of each process\n"))
        setup.more = "cgroup: \"/nowhere\","
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        let third = try TestDaemon(arguments: ["--config", file], in: scratch, logName: "log3")
        #expect(try third.end() == "exit status 78")
        #expect(third.log.contains("cgroup: /nowhere is no control group of version 2"))
    }
}

@Suite struct `Programs in control groups` {
    private static let selectors = """
        leaves: {
            program: ["sh", "-c",
                "setsid sh -c 'echo $$ >away; exec sleep 3600' >/dev/null 2>&1 & \
        while [ ! -s away ]; do sleep 0.01; done; echo $$ >pid; cat; \
        [ ! -e stay ] || exec sleep 3600"],
            directory: "$DIR", timeout: "none",
        },
        """

    private static func remove(_ group: ControlGroup) {
        group.kill()
        for name in group.childNames { remove(group.child(name)) }
        try? group.remove()
    }

    private func withTree(_ name: String, _ body: (Setup, ControlGroup) throws -> Void) throws {
        let name = "daemon-tests-\(ProcessStatistics.processID)-\(name)"
        let tree = try #require(ControlGroup.own()).child(name)
        try tree.make()
        defer {
            // Killed processes are in their groups until they are gone.
            try? eventually("the tree is removed") {
                Self.remove(tree)
                return !tree.isThere
            }
        }
        var setup = Setup(selectors: Self.selectors)
        setup.more = "cgroup: \"\(tree.path)\","
        try body(setup, tree)
    }

    @Test(.timeLimit(.minutes(2)), .enabled(if: canMakeControlGroups))
    func `what has left the session ends with its job, done or cancelled`() throws {
        try withTree("end") { setup, tree in
            try withDaemon(setup) { daemon in
                let client = try daemon.connect()
                let reply = try client.call("PERFORM", "images", "leaves", "WAIT", "x")
                #expect(reply.text == "x")
                let first = try daemon.scratch.processID(in: "away")
                try eventually("it is gone") { !isRunning(first) }
                try daemon.scratch.write("", to: "away")
                try daemon.scratch.write("", to: "pid")
                try daemon.scratch.write("", to: "stay")
                try client.send("PERFORM", "images", "leaves", "WAIT", "x")
                _ = try daemon.scratch.processID(in: "pid")
                let second = try daemon.scratch.processID(in: "away")
                #expect(isRunning(second))
                #expect(tree.childNames == ["job-2-1"])
                #expect(try daemon.connect().call("CANCEL", 2).text == "requested")
                #expect(try client.reply().errorWord == "CANCELLED")
                try eventually("it is gone") { !isRunning(second) }
                // A group that could not be removed at once is removed with the next job.
                try eventually("the groups are removed") {
                    try daemon.scratch.write("", to: "away")
                    _ = try? File.remove(daemon.scratch.file("stay"))
                    _ = try client.call("PERFORM", "images", "leaves", "WAIT", "x")
                    return tree.childNames.count <= 1
                }
            }
        }
    }

    /// A daemon in a group that systemd has left to its service, or in a group in that one.
    @Test(
        .timeLimit(.minutes(2)), .enabled(if: canMakeControlGroups && hasPerl),
        arguments: ["", "/sub"])
    func `a delegated group is used, and the daemon moves out of the way`(place: String) throws {
        try withTree("delegated\(place.count)") { setup, tree in
            let own = ControlGroup(path: tree.path + place)
            try own.make()
            let scratch = try Scratch()
            var setup = setup
            setup.more = ""
            // setxattr(2) has this number on x86-64.
            let daemon = try TestDaemon(
                setup, in: scratch,
                limited: "perl -e 'my @a = (\"\(tree.path)\", \"user.delegate\", \"1\"); "
                    + "syscall(188, $a[0], $a[1], $a[2], 1, 0)'; "
                    + "echo 0 >\(own.path)/cgroup.procs")
            defer {
                daemon.kill()
                _ = try? daemon.end()
            }
            #expect(daemon.log.contains("programs run in control groups below \(tree.path)\n"))
            let home = place.isEmpty ? tree.child("workerd") : own
            #expect(home.processIDs == [daemon.processID])
            #expect(tree.processIDs == [])
            try scratch.write("", to: "stay")
            try daemon.connect().send("PERFORM", "images", "leaves", "WAIT", "x")
            let child = try scratch.processID(in: "pid")
            #expect(tree.child("job-1-1").processIDs.contains(child))
        }
    }

    @Test(.timeLimit(.minutes(2)), .enabled(if: canLimitMemory))
    func `the kernel kills all of a program whose memory is over the limit of its group`() throws {
        try withTree("memory") { setup, tree in
            var setup = setup
            // The process that has left the session holds nothing, and is killed with the others.
            let leaving = "setsid sh -c 'echo $$ >away; exec sleep 3600' >/dev/null 2>&1 & "
            setup.selectors += """
                over: { \(holding(30, times: 3, before: leaving)) maxMemory: "64MB" },
                under: { \(holding(15, times: 3)) maxMemory: "64MB", memoryLimit: "cgroup" },
                """
            try withDaemon(setup) { daemon in
                let client = try daemon.connect()
                let over = try client.call("PERFORM", "images", "over", "WAIT", "")
                #expect(
                    over.errorMessage
                        == "job 1: used more memory than 65536 KB, the limit of its processes "
                        + "together")
                let away = try daemon.scratch.processID(in: "away")
                try eventually("all of it is gone") { !isRunning(away) }
                try eventually("no process is left") { try children(of: daemon.processID) == [] }
                try client.send("PERFORM", "images", "under", "WAIT", "")
                let group = tree.child("job-2-1")
                try eventually("it holds its memory") {
                    (group.text(of: "memory.current").flatMap { Int($0.dropLast()) } ?? 0)
                        > 45_000_000
                }
                #expect(group.text(of: "memory.max") == "67108864\n")
                try daemon.scratch.write("", to: "go")
                #expect(try client.reply().text == "held\n")
                let place = "by their control group below \(tree.path)\n"
                #expect(daemon.log.contains(place))
                #expect(!daemon.log.contains("sampled every"))
            }
        }
    }

    @Test(.timeLimit(.minutes(2)), .enabled(if: canMakeControlGroups))
    func `the next daemon ends what a killed one has left in them`() throws {
        try withTree("left") { setup, tree in
            let scratch = try Scratch()
            try scratch.write("", to: "stay")
            let first = try TestDaemon(setup, in: scratch)
            defer { first.kill() }
            try first.connect().send("PERFORM", "images", "leaves", "WAIT", "x")
            _ = try scratch.processID(in: "pid")
            let away = try scratch.processID(in: "away")
            try first.crash()
            #expect(isRunning(away))
            let second = try TestDaemon(setup, in: scratch, logName: "log2")
            defer { second.kill() }
            try eventually("it is gone") { !isRunning(away) }
            #expect(second.log.contains("killed what was left in control groups of programs"))
        }
    }

    @Test(.timeLimit(.minutes(2)), .enabled(if: canMakeControlGroups))
    func `a second signal ends what has left the session`() throws {
        try withTree("signal") { setup, _ in
            try withDaemon(setup) { daemon in
                try daemon.scratch.write("", to: "stay")
                try daemon.connect().send("PERFORM", "images", "leaves", "WAIT", "x")
                _ = try daemon.scratch.processID(in: "pid")
                let away = try daemon.scratch.processID(in: "away")
                try daemon.send(.terminate)
                try eventually("it goes down") { daemon.log.contains("going down") }
                try daemon.send(.terminate)
                _ = try daemon.end()
                try eventually("it is gone") { !isRunning(away) }
            }
        }
    }
}

private let hasPerl = (try? File.kind(of: "/usr/bin/perl")) != nil

/// Whether node is installed where programs are looked for.
private let hasNode = (try? File.kind(of: "/usr/bin/node")) != nil
