// When timers were due, and when they fired; and the gate at which a thread is held.

internal import Dispatch

/// Deadlines of one loop's timers, and how late each was.
final class TimerBoard: @unchecked Sendable {
    // SAFETY: what can change is touched on the loop's thread only until `done` is signalled, and
    // after that by who waited for it.
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

/// Holds a loop's thread in a callout, so that what is posted meanwhile only queues up.
final class Hold: Sendable {
    private let isHeld = DispatchSemaphore(value: 0)
    private let gate = DispatchSemaphore(value: 0)

    /// What commands, which capture nothing, are held by.
    static let shared = Hold()

    /// Called on the thread: returns when somebody lets go.
    func holdThread() {
        isHeld.signal()
        gate.wait()
    }

    /// Waits until the thread is held.
    func waitUntilHeld() { isHeld.wait() }

    func letGo() { gate.signal() }
}
