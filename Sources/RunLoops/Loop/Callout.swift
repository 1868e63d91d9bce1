// Every call out of a run loop goes through one of these functions. They are never inlined and say
// in their names what is called, so that the stack of a profiler or a crash reads like a sentence.

internal import Kernel

enum Callout {
    @inline(never)
    static func performSource(_ perform: @Sendable () -> Void) {
        perform()
        keepFrame()
    }

    @inline(never)
    static func handlePort(
        _ port: ThreadRunLoop.Port, _ readiness: Readiness, _ handler: ThreadRunLoop.Port.Handler
    ) {
        handler(port, readiness)
        keepFrame()
    }

    @inline(never)
    static func fireTimer(_ timer: ThreadRunLoop.Timer, _ handler: ThreadRunLoop.Timer.Handler) {
        handler(timer)
        keepFrame()
    }

    @inline(never)
    static func fireTimeout(_ body: () -> Void) {
        body()
        keepFrame()
    }

    @inline(never)
    static func tellObserver(
        _ observer: ThreadRunLoop.Observer, _ activity: ThreadRunLoop.Activity,
        _ handler: ThreadRunLoop.Observer.Handler
    ) {
        handler(observer, activity)
        keepFrame()
    }

    @inline(never)
    static func serveMainQueue(_ queue: any MainQueue) {
        queue.drain()
        keepFrame()
    }

    @inline(never)
    static func runBlock(_ block: () -> Void) {
        block()
        keepFrame()
    }

    /// Something to do after the call, so that it is no tail call and the frame stays on the stack.
    ///
    /// - Parameter callout: nothing is done with it; but without it some of these functions would
    ///   be the same, and the optimiser makes one of those that are, which has the name of one of
    ///   them.
    @inline(never)
    @_optimize(none)
    private static func keepFrame(of callout: StaticString = #function) {}
}
