// Waiting for a thread's end without blocking another one.

internal import Kernel
internal import RunLoops

extension WorkerThread {
    /// Suspends the task until the thread has ended, with its run loop and all that was in it.
    ///
    /// The counterpart of `join()` for a task: it stops nothing.
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
        try await runLoop.endObservers.wait()
    }
}

extension WorkerPool {
    /// Suspends the task until all members have ended.
    ///
    /// The counterpart of `join()` for a task: it stops nothing. For a member that is replaced
    /// meanwhile it waits no longer, but for the one in its place.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    /// - Thread: any task, one on a member too.
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func ended() async throws {
        // From the first one again: an ended member may have been replaced as well.
        while let member = parts.lazy.map(\.occupant).first(where: { !$0.hasEnded }) {
            try await member.gone()
        }
        for member in members { try await member.ended() }
    }
}

extension EndObservers {
    /// Suspends the task until they are told.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    nonisolated(nonsending) func wait() async throws {
        let waiter = Waiter<Void>()
        try await waiter.wait {
            // The task goes on elsewhere: the thread that ends is to run nothing any more.
            let isToCome = add(waiter) { Task { waiter.settle(.success(())) } }
            if !isToCome { waiter.settle(.success(())) }
            // Cancelled meanwhile by a thread that could not yet see it there.
            if Task.isCancelled { remove(waiter) }
        } cancelled: {
            remove(waiter)
        }
    }
}
