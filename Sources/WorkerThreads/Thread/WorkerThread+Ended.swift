// Waiting for a thread's end without blocking another one.

internal import Kernel
internal import RunLoops

extension WorkerThread {
    /// Suspends the task until the thread has ended, with its run loop and all that was in it.
    ///
    /// What `join()` is to a thread: it stops nothing.
    ///
    /// ```swift
    /// worker.stop(.finishQueued)
    /// try await worker.ended()
    /// ```
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    /// - Thread: any task, one on this thread too.
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func ended() async throws {
        let farewells = runLoop.farewells
        let waiter = Waiter<Void>()
        try await waiter.wait {
            // The task goes on elsewhere: the thread that ends is to run nothing any more.
            let isToCome = farewells.add(waiter) { Task { waiter.settle(.success(())) } }
            if !isToCome { waiter.settle(.success(())) }
            // Cancelled meanwhile by a thread that could not yet see it there.
            if Task.isCancelled { farewells.remove(waiter) }
        } cancelled: {
            farewells.remove(waiter)
        }
    }
}

extension WorkerPool {
    /// Suspends the task until all members have ended.
    ///
    /// What `join()` is to a thread: it stops nothing.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    /// - Thread: any task, one on a member too.
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func ended() async throws {
        for member in members { try await member.ended() }
    }
}
