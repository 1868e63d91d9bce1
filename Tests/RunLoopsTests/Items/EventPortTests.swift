// Signals and the ends of processes as events of a loop, with the real kernel.

import Glibc
import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing

/// A child that has just been started and that nothing but its port collects.
private func child(_ script: String) throws -> ChildProcess {
    try ChildProcess.spawn(ChildCommand(program: "/bin/sh", arguments: ["-c", script]))
}

@Suite(.timeLimit(.minutes(2))) struct `A signal port` {
    @Test func `receives its signals on the loop's thread, and others have their effect`() throws {
        let trace = Trace()
        try onNewThread {
            Swift.Result {
                let loop = ThreadRunLoop.current
                let port = try SignalPort([.user1, .user2]) { received in
                    trace.note("\(received.signal) \(loop.isOnThread)")
                    if received.signal == .user2 { loop.stop() }
                }
                try port.add(to: loop)
                raise(SIGUSR1)
                raise(SIGUSR1)
                loop.add(
                    ThreadRunLoop.Timer(after: .milliseconds(1)) { _ in
                        raise(SIGUSR2)
                    })
                #expect(loop.run() == .stopped)
                port.invalidate()
                #expect(!port.isValid)
            }
        }.get()
        #expect(trace.all == ["SIGUSR1 true", "SIGUSR2 true"])
    }

    @Test func `that is let go of keeps no run alive`() throws {
        try onNewThread {
            Swift.Result {
                let loop = ThreadRunLoop.current
                do {
                    let port = try SignalPort([.user1]) { _ in }
                    try port.add(to: loop)
                    #expect(port.isValid)
                }
                #expect(loop.run() == .finished)
            }
        }.get()
    }
}

@Suite(.timeLimit(.minutes(2))) struct `A process port` {
    @Test(arguments: ["exit 3", "kill -9 $$"])
    func `tells how a child has ended, once`(script: String) throws {
        let trace = Trace()
        try onNewThread {
            Swift.Result {
                let loop = ThreadRunLoop.current
                let child = try child(script)
                let port = try ProcessPort(processID: child.processID) { status in
                    trace.note("\(status)")
                }
                try port.add(to: loop)
                #expect(port.isValid)
                // The port was all that there is: it leaves the loop as it is called.
                #expect(loop.run() == .finished)
                #expect(!port.isValid)
                // Collected: there is no such process any more.
                #expect(throws: SystemError.self) {
                    try ProcessPort(processID: port.processID) { _ in }
                }
            }
        }.get()
        #expect(trace.all == [script == "exit 3" ? "exit status 3" : "killed by SIGKILL"])
    }

    @Test func `that is let go of leaves its process alone`() throws {
        try onNewThread {
            Swift.Result {
                let loop = ThreadRunLoop.current
                var child = try child("read line")
                do {
                    let port = try ProcessPort(processID: child.processID) { _ in
                        Issue.record("it was let go of")
                    }
                    try port.add(to: loop)
                }
                #expect(loop.run() == .finished)
                let hasEnded = child.hasEnded
                #expect(!hasEnded)
                child.closeInput()
                while child.reap() == nil { SystemThread.yield() }
            }
        }.get()
    }
}
