// Threads that reach a loop while it runs, with no thread waiting for them: the effects are in no
// fixed order, but nothing may be lost, on either loop.

import Dispatch
import Foundation
import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing

/// Operations of threads on a loop that they do not wait for.
private struct Storm {
    static let threadCount = 3
    static let blockCount = 300

    /// Two sources and a port of each kind, in the default mode.
    static let program = Program(
        items: [
            Item(kind: .source(order: 0), scripts: []),
            Item(kind: .source(order: 1), scripts: []),
            Item(kind: .port(order: 2, watchesDescriptor: true), scripts: []),
            Item(kind: .port(order: 3, watchesDescriptor: false), scripts: []),
        ],
        main: [])
}

/// The observed part of a storm, on the loop's thread.
private final class StormBook {
    /// The next block of each thread.
    var next = [Int](repeating: 0, count: Storm.threadCount)
    var isInOrder = true
    var blockCount = 0
}

@Suite(.serialized) struct `Threads that nobody waits for` {
    @Test(.timeLimit(.minutes(20)))
    func `lose nothing on our loop`() throws { try check(OurMachine.self) }

    @Test(.timeLimit(.minutes(20)))
    func `lose nothing on CoreFoundation's`() throws { try check(CoreFoundationMachine.self) }

    /// In which order is open, so that programs are compared no further where several are ready.
    @Test func `lose nothing of what is ready together`() throws {
        for seen in [try served(by: OurMachine.self), try served(by: CoreFoundationMachine.self)] {
            #expect(
                seen.sorted() == [
                    "port2 is handled", "port3 is handled", "source0 performs", "source1 performs",
                ])
        }
    }

    /// The sources, of all signalled before, that were served by runs which return after a source.
    private func served<M: Machine>(by kind: M.Type) throws -> [String] {
        try onNewThread {
            Player.playStorm(Storm.program, on: M.self) { machine in
                for item in Storm.program.items.indices { machine.signal(item) }
                for _ in 0..<8 {
                    _ = machine.run(.standard, for: .zero, returnsAfterSource: true)
                }
            }
        }
    }

    private func check<M: Machine>(_ kind: M.Type) throws {
        let traces = try onNewThread {
            Player.playStorm(Storm.program, on: M.self) { machine in
                let book = StormBook()
                let senders = (0..<Storm.threadCount).map { Self.start($0, machine, book) }
                let isOver = { book.blockCount == Storm.threadCount * Storm.blockCount }
                // A wake-up that were lost would let it sleep until this is over.
                let patience = SystemClock().now().advanced(by: .seconds(60))
                while !isOver() && SystemClock().now() < patience {
                    _ = machine.run(.standard, for: .seconds(60), returnsAfterSource: true)
                }
                for sender in senders { sender.wait() }
                // The latest signal is served in a pass of its own.
                for _ in 0..<10 {
                    _ = machine.run(.standard, for: .zero, returnsAfterSource: false)
                }
                #expect(isOver())
                #expect(book.isInOrder)
            }
        }
        for item in Storm.program.items.indices {
            let word = Storm.program.items[item].isSource ? "performs" : "is handled"
            let name = Storm.program.name(item)
            let count = traces.count { $0 == "\(name) \(word)" }
            #expect(count >= 1 && count <= Storm.threadCount * Storm.blockCount, "\(name)")
        }
    }

    /// Starts a thread that queues blocks, and signals something after each.
    ///
    /// Each of its signals comes before one of its blocks: the last one is seen by the time that
    /// all have run.
    private static func start(
        _ thread: Int, _ machine: any Machine, _ book: StormBook
    ) -> DispatchSemaphore {
        let done = DispatchSemaphore(value: 0)
        let machine = Carried(value: machine)
        let book = Carried(value: book)
        DispatchQueue.global().async {
            for number in 0..<Storm.blockCount {
                machine.value.signal((thread + number) % Storm.program.items.count)
                machine.value.perform(inModes: [.standard]) {
                    let book = book.value
                    if book.next[thread] != number { book.isInOrder = false }
                    book.next[thread] = number + 1
                    book.blockCount += 1
                }
            }
            done.signal()
        }
        return done
    }
}
