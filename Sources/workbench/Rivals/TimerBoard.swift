// The deadlines of timers and the times when they fired; and the gate at which a thread waits.

internal import Dispatch

/// Deadlines of one loop's timers, and their lateness.
final class TimerBoard: @unchecked Sendable {
    // SAFETY: the variable state is touched on the loop's thread only until `done` is signalled,
    // and after that by the thread that waited for it.
    let deadlines: [Int64]
    private(set) var lateness: [Int64]
    private var remainingCount: Int
    /// Keeps the timers until the end.
    var timers: AnyObject?
    let done = DispatchSemaphore(value: 0)

    init(_ deadlines: [Int64]) {
        self.deadlines = deadlines
        lateness = [Int64](repeating: .min, count: deadlines.count)
        remainingCount = deadlines.count
    }

    func fired(_ index: Int) {
        lateness[index] = nanoseconds() - deadlines[index]
        remainingCount -= 1
        if remainingCount == 0 { done.signal() }
    }
}

/// Keeps a loop's thread busy in a callout, so that posts meanwhile only queue up.
final class BusyThread: Sendable {
    private let isBusy = DispatchSemaphore(value: 0)
    private let gate = DispatchSemaphore(value: 0)

    /// The gate of commands, which capture nothing.
    static let shared = BusyThread()

    /// Blocks the calling thread until it is released.
    func keepBusy() {
        isBusy.signal()
        gate.wait()
    }

    /// Waits until the thread is busy.
    func waitUntilBusy() { isBusy.wait() }

    func letGo() { gate.signal() }
}
