// Serves the main dispatch queue: a port in the common modes of one loop, there from the first run
// on, and away while the queue's own work runs. Knows nothing of libdispatch but the seam.

internal import Kernel

/// The main queue's place in its loop.
///
/// It is a port like any other: looked for before the sleep, ends it, is handled after the timers,
/// counts as a source for a run that returns after one, and keeps its modes alive. What sets it
/// apart is that a run nested in the queue's work must not find it, because libdispatch does not
/// begin the next piece of work before the one under way has ended: the run would wait for ever.
final class MainQueuePort: @unchecked Sendable {
    // SAFETY: confined to the loop's thread: `runBegins`, `runEnds` and the port's handler are
    // called there only. Made by any thread, before the loop is known to others.

    private let open: @Sendable () throws(SystemError) -> (any MainQueue)?
    private var isOpened = false
    private var port: ThreadRunLoop.Port?
    private var isDraining = false
    private var isAway = false

    /// - Parameter open: finds the queue, when the loop runs for the first time; nil says that the
    ///   program has none.
    init(open: @escaping @Sendable () throws(SystemError) -> (any MainQueue)?) {
        self.open = open
    }

    /// Whether a port is the queue's.
    func isServed(by port: ThreadRunLoop.Port) -> Bool { port === self.port }

    /// A run begins, before anything else of it.
    ///
    /// - Returns: whether the queue leaves the loop for as long as the run lasts.
    func runBegins(in loop: ThreadRunLoop) -> Bool {
        if !isOpened { openQueue(for: loop) }
        guard isDraining, !isAway, let port else { return false }
        isAway = true
        loop.remove(port, from: .common)
        return true
    }

    /// The run for which the queue left has ended.
    func runEnds(in loop: ThreadRunLoop) {
        isAway = false
        addPort(to: loop)
    }

    private func openQueue(for loop: ThreadRunLoop) {
        isOpened = true
        orTrap { () throws(SystemError) in
            guard let queue = try open() else { return }
            port = ThreadRunLoop.Port(watching: queue.descriptor) { [unowned self] _, _ in
                isDraining = true
                Callout.serveMainQueue(queue)
                isDraining = false
            }
        }
        addPort(to: loop)
    }

    private func addPort(to loop: ThreadRunLoop) {
        guard let port else { return }
        orTrap { () throws(SystemError) in try loop.add(port, to: .common) }
    }

    private func orTrap(_ body: () throws(SystemError) -> Void) {
        do throws(SystemError) {
            try body()
        } catch {
            fatalError("the main loop can't watch the main dispatch queue: \(error)")
        }
    }
}
