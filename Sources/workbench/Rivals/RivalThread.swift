// A thread that a rival's loop runs on, kept by reference.

internal import Kernel
internal import Synchronization

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
