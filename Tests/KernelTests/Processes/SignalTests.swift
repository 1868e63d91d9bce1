// Proves signals. They go to the test's own thread only, which blocks them first and has none left
// pending when it unblocks them; nothing in these tests suspends, so the thread stays the same.

import Glibc
import Kernel
import Support
import Testing

@Suite(.timeLimit(.minutes(2)))
struct SignalTests {
    @Test func `signals are read in place of having their effect, with who sent them`() throws {
        let signals: Set<Signal> = [.user1, .terminate]
        Signal.block(signals)
        defer { Signal.unblock(signals) }
        let descriptor = try SignalDescriptor(signals)
        let none = try descriptor.next()
        #expect(none == nil)
        raise(SIGTERM)
        try waitUntilReadable(descriptor.descriptor)
        let one = try descriptor.next()
        #expect(one == ReceivedSignal(signal: .terminate, senderProcessID: Int(getpid())))
        let nothing = try descriptor.next()
        #expect(nothing == nil)
    }

    @Test func `a signal sent twice before it is read arrives once`() throws {
        let signals: Set<Signal> = [.user1, .hangUp]
        Signal.block(signals)
        defer { Signal.unblock(signals) }
        let descriptor = try SignalDescriptor(signals)
        for _ in 0..<3 { raise(SIGUSR1) }
        raise(SIGHUP)
        var arrived: Set<Signal> = []
        for _ in 0..<2 {
            let received = try descriptor.next()
            arrived.insert(try #require(received).signal)
        }
        let more = try descriptor.next()
        #expect(arrived == signals)
        #expect(more == nil)
    }

    @Test func `a thread that a signal may come to is named`() throws {
        let (looked, ready) = (Latch(), Latch())
        let signals: Set<Signal> = [.user2, .alarm]
        Signal.block(signals)
        defer { Signal.unblock(signals) }
        let open = try SystemThread(name: "open") {
            Signal.unblock([.alarm])
            ready.open()
            looked.wait()
        }
        let shut = try SystemThread(name: "shut") { looked.wait() }
        ready.wait()
        let names = try Signal.threadsLettingIn(signals)
        looked.open()
        open.join()
        shut.join()
        #expect(names.contains("open"))
        #expect(!names.contains("shut"))
    }

    @Test func `only the signals asked for are read`() throws {
        Signal.block([.user1, .user2])
        defer { Signal.unblock([.user1, .user2]) }
        let first = try SignalDescriptor([.user1])
        let second = try SignalDescriptor([.user2])
        raise(SIGUSR2)
        let none = try first.next()
        let one = try second.next()
        #expect(none == nil)
        #expect(one?.signal == .user2)
    }

    @Test func `a signal sent to a process arrives there`() throws {
        var child = try ChildProcess.spawn(ChildCommand(program: "/bin/cat"))
        try Signal.interrupt.send(toProcess: child.processID)
        try waitUntilReadable(child.endDescriptor)
        let status = child.reap()
        #expect(status == .signalled(.interrupt, coreDumped: false))
    }

    @Test func `a broken pipe is an error once its signal is ignored, and deadly when reset`() async
    {
        await #expect(processExitsWith: .signal(SIGPIPE)) {
            Signal.ignoreBrokenPipes()
            let writeEnd = try Pipe().keepWriteEnd()
            let number = errorNumber { () throws(SystemError) in
                _ = try writeEnd.write(contentsOf: [1])
            }
            if number != EPIPE { exit(EXIT_FAILURE) }
            Signal.reset([.brokenPipe])
            _ = try writeEnd.write(contentsOf: [1])
        }
    }

    @Test(arguments: [
        (Signal.terminate, "SIGTERM"), (.kill, "SIGKILL"), (.segmentationFault, "SIGSEGV"),
        (.childEnded, "SIGCHLD"), (.user1, "SIGUSR1"),
    ])
    func `signals have the names that people know`(signal: Signal, name: String) {
        #expect(signal.name == name)
        #expect("\(signal)" == name)
    }

    @Test func `every number has a name of its own, and only signals have a number`() throws {
        var names: Set<String> = []
        for number in 1...64 { names.insert(try #require(Signal(number: number)).name) }
        #expect(names.count == 64)
        #expect(Signal(number: 15) == .terminate)
        #expect(Signal(number: 64)?.name.hasPrefix("SIGRTMIN+") == true)
        for number in [0, -1, 65, Int.max] { #expect(Signal(number: number) == nil) }
    }
}
