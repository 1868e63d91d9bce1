// Proves where another thread is: in Swift, in the C library, in a system call.

import Glibc
import Kernel
import Support
import Synchronization
import Testing

/// Waits in the kernel, under a name that the test looks for.
@inline(never)
private func standInFrontOf(_ gate: Gate) {
    gate.pass()
    keepTheFrame()
}

/// Never sleeps, until it is told to stop.
@inline(never)
private func runInCircles(_ told: Latch, _ started: Latch) {
    started.open()
    while !told.isOpen {}
    keepTheFrame()
}

@inline(never)
@_optimize(none)
private func keepTheFrame() {}

private final class Named: Sendable {
    private let stored = Mutex<SystemThread.ID?>(nil)

    /// Announces the calling thread, so that it can be asked.
    func set() {
        ThreadBacktrace.allowOnThisThread()
        stored.withLock { $0 = .current }
    }

    func get() throws -> SystemThread.ID { try #require(stored.withLock { $0 }) }
}

/// The addresses on a thread's stack.
///
/// The usual limit of a second is too short when the machine holds the thread up.
private func addresses(of id: SystemThread.ID) -> [UInt] {
    let word = Atomic<UInt64>(0)
    return ThreadBacktrace.addresses(of: id, within: .seconds(60), stampedBy: word).addresses
}

@Suite(.timeLimit(.minutes(2))) struct `A backtrace of another thread` {
    @Test func `names the functions that wait, innermost first`() throws {
        let gate = Gate()
        let id = Named()
        let thread = try TestThread(name: "waits") {
            id.set()
            standInFrontOf(gate)
        }
        gate.reached.wait()
        let lines = Symbols.describe(addresses(of: try id.get()))
        gate.open()
        thread.join()
        let inner = try #require(lines.firstIndex { $0.contains("Gate.pass()") }, "\(lines)")
        let outer = try #require(lines.firstIndex { $0.contains("standInFrontOf") }, "\(lines)")
        #expect(inner < outer)
        #expect(!lines.contains { $0.contains("clinux_capture_handler") })
        #expect(lines[outer].contains(" in the program"))
    }

    @Test func `finds a thread that never sleeps`() throws {
        let told = Latch()
        let started = Latch()
        let id = Named()
        let thread = try TestThread(name: "runs") {
            id.set()
            runInCircles(told, started)
        }
        started.wait()
        let lines = Symbols.describe(addresses(of: try id.get()))
        told.open()
        thread.join()
        #expect(lines.contains { $0.contains("runInCircles") }, "\(lines)")
    }

    @Test func `leaves a system call that waits under way`() throws {
        let pipe = try Pipe(nonBlocking: .writeEnd)
        let id = Named()
        let started = Latch()
        let read = Counter()
        let reader = pipe.readEnd.number
        let thread = try TestThread(name: "reads") {
            id.set()
            started.open()
            var byte: UInt8 = 0
            if unsafe Glibc.read(reader, &byte, 1) == 1 { read.increment() }
        }
        started.wait()
        for _ in 0..<20 { #expect(!addresses(of: try id.get()).isEmpty) }
        try pipe.writeEnd.write(everything: [7])
        thread.join()
        #expect(read.count == 1)
    }

    @Test func `asks many threads at the same time`() throws {
        let gate = Gate()
        let ids = (0..<8).map { _ in Named() }
        let ready = ids.map { _ in Latch() }
        let waiting = try ids.indices.map { index in
            try TestThread(name: "waits") {
                ids[index].set()
                ready[index].open()
                standInFrontOf(gate)
            }
        }
        for latch in ready { latch.wait() }
        let answered = Counter()
        let asking = try ids.map { id in
            try TestThread(name: "asks") {
                guard let id = try? id.get() else { return }
                for _ in 0..<50 where !addresses(of: id).isEmpty {
                    answered.increment()
                }
            }
        }
        for thread in asking { thread.join() }
        gate.open()
        for thread in waiting { thread.join() }
        #expect(answered.count == 400)
    }

    @Test func `of a thread that has ended is empty`() throws {
        let id = Named()
        let thread = try TestThread(name: "ends") { id.set() }
        thread.join()
        #expect(addresses(of: try id.get()).isEmpty)
    }

    @Test func `of Swift symbols reads like Swift, of others as they are`() {
        #expect(Symbols.demangled("$sSS5countSivg") == "Swift.String.count.getter : Swift.Int")
        #expect(Symbols.demangled("epoll_wait") == "epoll_wait")
        #expect(Symbols.demangled("$s") == "$s")
        #expect(Symbols.describe([1]) == ["0x1"])
    }
}
