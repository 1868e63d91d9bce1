// The measured object: a loop on a thread of its own, ours or a rival's, behind one small protocol.
// Each contender writes its own `post`, so that the closures are made as its users would make them.

internal import Kernel
internal import Synchronization

/// Runs closures one after another, away from the caller.
protocol Loop: Sendable {
    /// Starts its thread.
    init() throws
    /// Posts work that captures nothing: `WorkTally.shared.note(1)`.
    func postBare()
    /// Posts work that captures a reference and an integer.
    func post(_ tally: WorkTally, _ index: Int)
    /// Posts a closure.
    func post(_ body: @escaping @Sendable () -> Void)
    /// Lets the thread end; earlier posts are done.
    func stop()
}

extension Loop {
    @inline(__always)
    func postBare() { post { WorkTally.shared.note(1) } }

    @inline(__always)
    func post(_ tally: WorkTally, _ index: Int) { post { tally.note(index) } }
}

/// Hands plain values to a thread, which performs them in order.
protocol CommandLoop: Sendable {
    init() throws
    /// Hands over a value and makes sure that it is performed.
    func send(_ command: LoopCommand)
    func stop()
}

/// A plain value: no reference in it, nothing to copy but its bytes.
struct LoopCommand: Sendable {
    let index: Int
    var weight: Int32 = 1

    @inline(__always)
    func perform() {
        if index >= 0 { WorkTally.shared.note(index) } else { BusyThread.shared.keepBusy() }
    }
}

/// A loop that has timers.
protocol TimerLoop: Loop {
    associatedtype Timers: LoopTimers

    /// Called on the loop's thread.
    func makeTimers(_ board: TimerBoard) -> Timers
}

/// One-shot timers of one loop, all of them used on its thread only.
protocol LoopTimers: AnyObject {
    /// Schedules timer `index`; they come in the order 0, 1, 2 …
    ///
    /// At its deadline `board.fired(index)` is called.
    func schedule(_ index: Int, at deadline: Int64)
    /// Cancels a timer that has not fired.
    func cancel(_ index: Int)
}

/// A system thread that is joined once.
final class RivalThread: Sendable {
    private let thread: Mutex<SystemThread?>

    init(_ name: String, _ body: @escaping @Sendable () -> Void) throws {
        thread = Mutex(try SystemThread(name: name, body: body))
    }

    func join() {
        let last = thread.withLock { $0.take() }
        last?.join()
    }
}
