// Waiting for a descriptor in a task: the loop watches it and resumes the task.

internal import Kernel
public import RunLoops

extension ThreadRunLoop {
    /// Suspends the task until a descriptor is ready; this loop watches it meanwhile.
    ///
    /// When this returns or throws, the loop does not watch the descriptor any more, and it may be
    /// closed.
    ///
    /// - Parameters:
    ///   - descriptor: an open descriptor, which stays open meanwhile. A mode watches it once:
    ///     while a port or another task waits for it in the same mode, this throws EEXIST.
    ///   - interest: what to wait for. Without it, the descriptor's end is waited for (`closed`).
    ///   - mode: in which mode of the loop it is watched.
    /// - Returns: what the descriptor is ready for.
    /// - Throws: `SystemError` when the kernel can't watch it (a regular file, which is always
    ///   ready, EPERM; EBADF; EEXIST); `CancellationError` once the loop's thread has taken a
    ///   cancelled task's descriptor back; `LoopEnded`.
    /// - Thread: any task; it goes on where it ran before.
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func ready(
        _ descriptor: CInt, for interest: Readiness, mode: Mode = .default
    ) async throws -> Readiness {
        let waiter = Waiter<Readiness>()
        let watch = DescriptorWatch(waiter, descriptor, interest)
        return try await waiter.waitUntilSettled {
            watch.begin(in: self, mode)
        } onCancel: {
            watch.cancel(in: self)
        }
    }

    /// Suspends the task until a descriptor can be read; this loop watches it meanwhile.
    ///
    /// An end of file can be read, and so can the bytes before it.
    ///
    /// - Throws: as `ready(_:for:mode:)` does.
    /// - Thread: any task; it goes on where it ran before.
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func readable(
        _ descriptor: CInt, mode: Mode = .default
    ) async throws {
        _ = try await ready(descriptor, for: .readable, mode: mode)
    }

    /// Suspends the task until a descriptor can be written; this loop watches it meanwhile.
    ///
    /// - Throws: as `ready(_:for:mode:)` does.
    /// - Thread: any task; it goes on where it ran before.
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func writable(
        _ descriptor: CInt, mode: Mode = .default
    ) async throws {
        _ = try await ready(descriptor, for: .writable, mode: mode)
    }
}

/// One wait for a descriptor.
///
/// Its port's handler holds the alarm alone, which rings when it goes.
private final class DescriptorWatch: Sendable {
    private let waiter: Waiter<Readiness>
    private let port: ThreadRunLoop.Port

    private final class Alarm: Sendable {
        let waiter: Waiter<Readiness>

        init(_ waiter: Waiter<Readiness>) { self.waiter = waiter }

        deinit { waiter.settle(.failure(LoopEnded())) }
    }

    init(_ waiter: Waiter<Readiness>, _ descriptor: CInt, _ interest: Readiness) {
        self.waiter = waiter
        let alarm = Alarm(waiter)
        port = ThreadRunLoop.Port(watching: descriptor, for: interest) { port, readiness in
            // First: the task may close the descriptor as soon as it goes on.
            port.invalidate()
            alarm.waiter.settle(.success(readiness))
        }
    }

    func begin(in loop: ThreadRunLoop, _ mode: ThreadRunLoop.Mode) {
        let isTaken = loop.onThread { [self] in
            do throws(SystemError) {
                try loop.add(port, to: mode)
            } catch {
                waiter.settle(.failure(error))
                port.invalidate()
            }
        }
        if !isTaken { waiter.settle(.failure(LoopEnded())) }
    }

    /// Ends the wait on the loop's thread; a beginning that comes after it does nothing.
    func cancel(in loop: ThreadRunLoop) {
        let isTaken = loop.onThread { [self] in
            waiter.settle(.failure(CancellationError()))
            port.invalidate()
        }
        if !isTaken { waiter.settle(.failure(LoopEnded())) }
    }
}
