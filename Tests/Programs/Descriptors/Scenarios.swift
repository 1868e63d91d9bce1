// Scenarios, each played in a process of its own, and whether all was right.

import Glibc
import Kernel
import RunLoops
import RunLoopsTesting
import Support

let scenarios: [String: @Sendable () throws -> Bool] = [
    "missing-streams": {
        close(0)
        close(2)
        try StandardStream.openMissing()
        let pipe = try Pipe()
        return isOpen(0) && isOpen(2) && pipe.readEnd.number >= 3
    },
    "pipe-without-streams": {
        close(0)
        close(1)
        let pipe = try Pipe()
        let areAbove = pipe.readEnd.number >= 3 && pipe.writeEnd.number >= 3
        return areAbove && !isOpen(0) && !isOpen(1)
    },
    "loop-without-streams": {
        close(0)
        close(1)
        let loop = ThreadRunLoop.current
        let pipe = try Pipe()
        try loop.add(ThreadRunLoop.Port(watching: pipe.readEnd.number) { _, _ in })
        return !isOpen(0) && !isOpen(1)
    },
    "main-loop-with-none-left": {
        let resource = __rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue))
        var limit = rlimit()
        getrlimit(resource, &limit)
        var none = rlimit(rlim_cur: 0, rlim_max: limit.rlim_max)
        setrlimit(resource, &none)
        // Leak checkers open files at the end of a process.
        defer { setrlimit(resource, &limit) }
        return try onNewThread { !ThreadRunLoop.main.isOnThread && ThreadRunLoop.main.perform {} }
    },
    // Traps.
    "main-loop-run-with-none-left": {
        var limit = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit)
        ThreadRunLoop.main.run(for: .zero)
        return true
    },
    // Traps.
    "doorbell-closed-by-another": {
        let poller = SystemPoller()
        // The kernel gives the lowest numbers that are free: the set's is the first, and then comes
        // the bell's.
        let lowest = dup(2)
        close(lowest)
        let set = try poller.makeSet()
        let waker = try SystemThread(name: "waker") {
            while !poller.isAsleep {}
            close(lowest + 1)
            poller.wake()
        }
        var ready: [ReadyEvent] = []
        poller.wait(on: set, until: .distantFuture, ready: &ready)
        waker.join()
        return true
    },
    "child-without-streams": {
        for number: CInt in 0...2 { close(number) }
        var child = try ChildProcess.spawn(
            ChildCommand(program: "/bin/sh", arguments: ["-c", "cat; cat <&0 >&2"]))
        guard let input = child.takeInput(), let output = child.takeOutput() else { return false }
        _ = try input.write(contentsOf: Array("hello".utf8))
        input.close()
        let text = try output.readEverything("a child's output", atMost: 100)
        return try text == Array("hello".utf8) && end(&child) == .exited(0)
    },
    "child-with-six-left": {
        // The rest is taken.
        var limit = rlimit(rlim_cur: 64, rlim_max: 64)
        setrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit)
        var taken: [CInt] = []
        while case let number = dup(2), number >= 0 { taken.append(number) }
        for number in taken.suffix(6) { close(number) }
        var child = try ChildProcess.spawn(ChildCommand(program: "/bin/true"))
        return try end(&child) == .exited(0)
    },
    "children-and-failures": {
        let before = try ProcessStatistics.openDescriptorCount()
        for round in 0..<20 {
            var child = try ChildProcess.spawn(ChildCommand(program: "/bin/true"))
            if round % 2 == 0, try end(&child) != .exited(0) { return false }
            do throws(SystemError) {
                _ = try ChildProcess.spawn(ChildCommand(program: "/nowhere"))
                return false
            } catch {
                if error.errno != ENOENT { return false }
            }
        }
        let after = try ProcessStatistics.openDescriptorCount()
        return after == before && waitpid(-1, nil, WNOHANG) == -1
    },
    "count": {
        let before = try ProcessStatistics.openDescriptorCount()
        let pipes = try (0..<20).map { _ in Held(try Pipe()) }
        let after = try ProcessStatistics.openDescriptorCount()
        return after - before == 2 * pipes.count
    },
]

func isOpen(_ number: CInt) -> Bool { fcntl(number, F_GETFD) >= 0 }

/// Waits for a child's end.
func end(_ child: inout ChildProcess) throws -> ChildStatus {
    try waitUntilReady(child.endDescriptor.number)
    guard let status = child.reap() else { throw Unexpected("it has ended, and has no status") }
    return status
}

/// Keeps a pipe in an array.
final class Held {
    let pipe: Pipe

    init(_ pipe: consuming Pipe) { self.pipe = pipe }
}
