// The way from a program that blocks to functions that suspend.

internal import Kernel
internal import Synchronization

enum Blocking {
    /// Runs a task and waits for it.
    ///
    /// - Thread: the main thread, which no task uses.
    static func result<Value: Sendable>(
        of body: @escaping @Sendable () async throws -> Value
    ) throws -> Value {
        let box = Box<Value>()
        Task {
            do {
                box.fill(.success(try await body()))
            } catch {
                box.fill(.failure(error))
            }
        }
        return try box.wait()
    }

    private final class Box<Value: Sendable>: Sendable {
        private let content = Mutex<Result<Value, any Error>?>(nil)
        private let isFull = Latch()

        func fill(_ result: Result<Value, any Error>) {
            content.withLock { $0 = result }
            isFull.open()
        }

        func wait() throws -> Value {
            isFull.wait()
            guard let result = content.withLock({ $0 }) else { fatalError("it was filled") }
            return try result.get()
        }
    }
}
