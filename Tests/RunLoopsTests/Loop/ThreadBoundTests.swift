// A value that is let go of on its loop's thread, wherever the box is let go of.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2))) struct `A value bound to a thread` {
    /// Says where it ends.
    private final class Handle {
        private let trace: Trace
        private let thread = SystemThread.ID.current
        private(set) var count = 0

        init(_ trace: Trace) { self.trace = trace }

        func use() { count += 1 }

        deinit { trace.note(SystemThread.ID.current == thread ? "at home" : "elsewhere") }
    }

    /// A value that another thread has made.
    private final class Made<Value: Sendable>: Sendable {
        private let stored = Mutex<Value?>(nil)

        var value: Value? {
            get { stored.withLock { $0 } }
            set { stored.withLock { $0 = newValue } }
        }
    }

    @Test func `ends there when the box is let go of on another thread`() throws {
        let trace = Trace()
        let running = try RunningLoop(thread: "home")
        var box: ThreadBound<Handle>?
        let made = Made<ThreadBound<Handle>>()
        running.loop.performAndWait { made.value = ThreadBound(Handle(trace), to: .current) }
        box = made.value
        made.value = nil
        running.loop.performAndWait { [box] in
            box?.value.use()
            #expect(box?.value.count == 1)
        }
        #expect(trace.all == [])
        box = nil
        // The loop was asked to let go of it before this.
        running.loop.performAndWait {}
        #expect(trace.all == ["at home"])
        running.end()
    }

    @Test func `ends with the thread, though the box is there still`() throws {
        let trace = Trace()
        let box = try onNewThread { ThreadBound(Handle(trace), to: .current) }
        #expect(trace.all == ["at home"])
        withExtendedLifetime(box) {}
    }

    @Test func `ends at once when its own thread lets go of the box`() throws {
        let trace = Trace()
        let text = try withScriptedLoop { loop, _ in
            let box = ThreadBound(Handle(trace), to: loop)
            box.value.use()
            let text = loop.describe()
            withExtendedLifetime(box) {}
            return text
        }
        #expect(trace.all == ["at home"])
        #expect(!text.contains("observer"))
    }

    @Test func `keeps no run alive`() throws {
        let result = try withScriptedLoop { loop, _ in
            let box = ThreadBound(1, to: loop)
            defer { withExtendedLifetime(box) {} }
            return loop.run()
        }
        #expect(result == .finished)
    }

    @Test func `is for its own thread only`() async throws {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let running = try RunningLoop(thread: "home")
            let made = Made<ThreadBound<Int>>()
            running.loop.performAndWait { made.value = ThreadBound(7, to: .current) }
            print(made.value?.value ?? 0)
        }
        let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(text.contains("the value of a ThreadBound is for the loop's own thread only"))
    }

    @Test func `can be used by all that goes before it when the thread ends`() throws {
        /// Uses a handle as it goes.
        final class User: Sendable {
            private let box: ThreadBound<Handle>
            private let name: String
            private let trace: Trace

            init(_ name: String, _ box: ThreadBound<Handle>, _ trace: Trace) {
                (self.name, self.box, self.trace) = (name, box, trace)
            }

            deinit {
                box.value.use()
                trace.note(name)
            }
        }
        let trace = Trace()
        try onNewThread {
            let loop = ThreadRunLoop.current
            let box = ThreadBound(Handle(trace), to: loop)
            let later = ThreadBound(User("boxed later", box, trace), to: loop)
            let (waiting, due) = (User("block", box, trace), User("time-out", box, trace))
            loop.perform(inModes: ["other"]) { _ = waiting }
            loop.schedule(after: .seconds(1)) { _ = due }
            loop.add(
                ThreadRunLoop.Source(cancel: { _, _ in
                    box.value.use()
                    trace.note("cancel")
                }) { _ = later }, to: "other")
        }
        #expect(trace.all.count == 5 && trace.all.last == "at home", "\(trace.all)")
    }
}
