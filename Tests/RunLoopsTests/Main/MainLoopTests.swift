// The main thread's loop on the real kernel, with the real libdispatch: in a program of its own,
// since the test runner's main thread is not ours, beside the same program on CoreFoundation's
// loop.

import Kernel
import RunLoops
import Support
import RunLoopsTesting
import Testing

@Suite struct `The main thread's loop` {
    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            "order", "threads", "modes", "inside", "after-source", "never-finished", "late-common",
            "hops", "signals",
        ])
    func `row 26: main dispatch and main actor work runs as in CoreFoundation's`(
        scenario: String
    ) throws {
        let ours = try ProgramRun(built: "ProgramMainQueue", ["ours", scenario])
        let theirs = try ProgramRun(built: "ProgramMainQueue", ["theirs", scenario])
        #expect(ours.status == .exited(0), "\(ours.output)")
        #expect(theirs.status == .exited(0), "\(theirs.output)")
        #expect(ours.output.split(separator: "\n") == theirs.output.split(separator: "\n"))
        #expect(!ours.output.isEmpty)
    }

    @Test(.timeLimit(.minutes(2)))
    func `row 26: main dispatch and main actor work runs in order`() throws {
        let run = try ProgramRun(built: "ProgramMainQueue", ["ours", "order"])
        #expect(
            run.output == """
                entry default
                dispatch 1
                actor 2
                dispatch 3
                dispatch 4
                exit default
                default: stopped

                """)
    }

    @Test(.timeLimit(.minutes(2)))
    func `an idle one sleeps, and makes no pass meanwhile`() throws {
        let run = try ProgramRun(built: "ProgramMainQueue", ["ours", "idle"])
        let lines = run.output.split(separator: "\n")
        #expect(lines.prefix(2) == ["default: timedOut", "1 passes, 1 sleeps"])
        #expect(run.output.contains("  mode default\n    the main dispatch queue\n"))
    }

    @Test(.timeLimit(.minutes(2)))
    func `performs come from any thread, waiting or not, in order and in modes`() throws {
        let run = try ProgramRun(built: "ProgramMainQueue", ["ours", "own-calls"])
        #expect(run.status == .exited(0), "\(run.output)")
        #expect(
            run.output == """
                in place, on main: true
                not yet
                in turn, on main: true
                later 1, on main: true
                later 2, on main: true
                waiting, on main: true
                waited, on main: false
                last of default
                default: stopped
                now A
                in A, on main: true
                A: timedOut

                """)
    }

    @Test(.timeLimit(.minutes(2)))
    func `all that it calls is on the main actor`() throws {
        let run = try ProgramRun(built: "ProgramMainQueue", ["ours", "isolated"])
        #expect(run.status == .exited(0), "\(run.output)")
        #expect(
            run.output == """
                observer
                block
                source
                timer
                time-out
                port
                default: timedOut
                6

                """)
    }

    @Test func `whoever runs it on another thread is told what to do`() async throws {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            _ = try onNewThread { ThreadRunLoop.main.run() }
        }
        let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(text.contains("let main be synchronous"))
    }

    @Test(.timeLimit(.minutes(2)))
    func `what it is given before the main thread has met it waits for its first run`() throws {
        let run = try ProgramRun(built: "ProgramMainQueue", ["ours", "early"])
        #expect(run.status == .exited(0), "\(run.output)")
        #expect(run.output == "early, on main: true\nstopped\n")
    }

    @Test(.timeLimit(.minutes(2)))
    func `it ends with a main thread that has never met it`() throws {
        let run = try ProgramRun(built: "ProgramMainQueue", ["ours", "left"])
        #expect(run.status == .exited(0), "\(run.output)")
        #expect(run.output == "kept: false\nwaited for: false\n")
    }

    @Test func `any thread may ask for it while no descriptor is left`() throws {
        let run = try ProgramRun(built: "ProgramDescriptors", ["main-loop-with-none-left"])
        #expect(run.status == .exited(0), "\(run.output)")
    }

    @Test(.timeLimit(.minutes(2)))
    func `without a descriptor for the main queue it stops the program with a word`() throws {
        let run = try ProgramRun(
            built: "ProgramDescriptors", ["main-loop-run-with-none-left"], isStopped: true)
        #expect(run.status != .exited(0))
        #expect(run.output.contains("the main loop can't watch the main dispatch queue"))
    }

    @Test func `every thread is given the same one, which is not its own`() throws {
        let first = try onNewThread { ThreadRunLoop.main }
        let second = try onNewThread { ThreadRunLoop.main }
        #expect(first === second && first.isMain)
        let isOwn = try onNewThread {
            ThreadRunLoop.main.isOnThread || ThreadRunLoop.current.isMain
        }
        #expect(!isOwn)
    }
}
