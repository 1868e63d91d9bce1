// Deadlines: a closure that begins in time or never, a wait for the end that gives up, and a stop
// that finishes queued work for so long and no longer.

internal import Kernel
internal import Synchronization

/// A deadline by some clock.
struct Deadline: Sendable {
    private let passedNow: @Sendable () -> Bool
    private let begin: @Sendable (@escaping @Sendable () -> Void) -> TaskTimeLimit

    init<Time: Clock<Duration>>(_ deadline: Time.Instant, by clock: Time) {
        passedNow = { clock.now >= deadline }
        begin = { TaskTimeLimit(until: deadline, by: clock, $0) }
    }

    var hasPassed: Bool { passedNow() }

    /// Begins a time limit that ends at the deadline.
    func whenPassed(_ body: @escaping @Sendable () -> Void) -> TaskTimeLimit { begin(body) }
}

extension WorkerThread {
    /// Runs a closure on the thread if its turn comes before a deadline, and returns its result.
    ///
    /// If the deadline passes first, this throws `SubmitError.late` at once, also while the thread
    /// is busy, and the closure never runs. A closure that has begun runs to its end, however long
    /// it takes. The place of a late closure counts for `maxQueued` until its turn would have come.
    ///
    /// - Parameters:
    ///   - deadline: when the closure must have begun, for example `.now + .seconds(5)`.
    ///   - priority: high before normal before low; equal ones in the order of submits.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Throws: `SubmitError.late`; what the closure throws; `SubmitError` when it was refused;
    ///   `CancellationError` when the task was cancelled before its turn.
    /// - Thread: any task.
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func submit<Result: Sendable>(
        before deadline: ContinuousClock.Instant, priority: SubmitPriority = .normal,
        _ body: sending @escaping () throws -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws -> Result {
        try await submit(
            before: deadline, clock: ContinuousClock(), priority: priority, body,
            fileID: fileID, line: line)
    }

    /// Runs a closure on the thread if its turn comes before a deadline by a clock.
    ///
    /// As `submit(before:priority:_:)`, by any clock: another thread's, or one that a test moves.
    ///
    /// - Parameters:
    ///   - deadline: when the closure must have begun.
    ///   - clock: the deadline's clock.
    ///   - priority: high before normal before low; equal ones in the order of submits.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Throws: `SubmitError.late`; what the closure throws; `SubmitError` when it was refused;
    ///   `CancellationError` when the task was cancelled before its turn.
    /// - Thread: any task.
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func submit<Result: Sendable, Time: Clock<Duration>>(
        before deadline: Time.Instant, clock: Time, priority: SubmitPriority = .normal,
        _ body: sending @escaping () throws -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws -> Result {
        let late = SubmitError.late(thread: name)
        let deadline = Deadline(deadline, by: clock)
        var limit: TaskTimeLimit?
        defer { limit?.cancel() }
        return try await AwaitedPerform.result(of: {
            // The time limit may come a moment after its date.
            if deadline.hasPassed { throw late }
            return try body()
        }) { request throws(SubmitError) in
            if deadline.hasPassed { throw late }
            limit = deadline.whenPassed { [request] in request.refuse(late) }
            try push(request, priority, fileID, line)
        }
    }

    /// Runs an asynchronous closure on the thread if its turn comes before a deadline.
    ///
    /// The deadline is for the closure's beginning. See `submit(before:priority:_:)` and the
    /// `submit` for asynchronous closures.
    ///
    /// - Parameters:
    ///   - deadline: when the closure must have begun.
    ///   - priority: high before normal before low; equal ones in the order of submits.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Throws: `SubmitError.late`; what the closure throws; `SubmitError` when it was refused;
    ///   `CancellationError` when the task was cancelled before its turn.
    /// - Thread: any task.
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func submit<Result: Sendable>(
        before deadline: ContinuousClock.Instant, priority: SubmitPriority = .normal,
        _ body: sending @escaping @concurrent () async throws -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws -> Result {
        try await submit(
            before: deadline, clock: ContinuousClock(), priority: priority, {},
            fileID: fileID, line: line)
        return try await withTaskExecutorPreference(executor) { try await body() }
    }

    /// Runs an asynchronous closure on the thread if its turn comes before a deadline by a clock.
    ///
    /// The deadline is for the closure's beginning. See `submit(before:clock:priority:_:)` and the
    /// `submit` for asynchronous closures.
    ///
    /// - Parameters:
    ///   - deadline: when the closure must have begun.
    ///   - clock: the deadline's clock.
    ///   - priority: high before normal before low; equal ones in the order of submits.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Throws: `SubmitError.late`; what the closure throws; `SubmitError` when it was refused;
    ///   `CancellationError` when the task was cancelled before its turn.
    /// - Thread: any task.
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func submit<Result: Sendable, Time: Clock<Duration>>(
        before deadline: Time.Instant, clock: Time, priority: SubmitPriority = .normal,
        _ body: sending @escaping @concurrent () async throws -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws -> Result {
        try await submit(
            before: deadline, clock: clock, priority: priority, {}, fileID: fileID, line: line)
        return try await withTaskExecutorPreference(executor) { try await body() }
    }

    /// Waits until the thread has ended, or until a deadline.
    ///
    /// - Returns: whether the thread has ended, with its run loop and all that was in it.
    /// - Thread: any thread but this one; several may wait.
    /// - Blocks: until the thread has ended, at most until the deadline.
    public func join(until deadline: ContinuousClock.Instant) -> Bool {
        require(!isCurrent, "thread \(name) can't wait for its own end")
        guard core.ended.wait(until: deadline) else { return false }
        join()
        return true
    }

    /// How it was told to stop; nil as long as it was not.
    package var stopPolicy: StopPolicy? { core.stopPolicy }

    /// Asks the thread to end, and to give up queued work once a time has passed.
    ///
    /// With `.finishQueued`, the thread runs what was queued before, for so long: when the time has
    /// passed, closures that still wait are refused with `SubmitError.stopped`, and the thread ends
    /// after the one that runs. Nothing ends a closure that has begun.
    ///
    /// - Parameters:
    ///   - policy: what happens to queued work until the time has passed.
    ///   - limit: how long queued work may take.
    ///   - clock: what the time limit goes by.
    /// - Thread: any thread, also the thread itself.
    /// - Blocks: never; `join()` and `join(until:)` wait for the end.
    public func stop(
        _ policy: StopPolicy, within limit: Duration,
        clock: some Clock<Duration> = ContinuousClock()
    ) {
        stop(policy)
        guard policy == .finishQueued else { return }
        _ = TaskTimeLimit(until: clock.now.advanced(by: min(limit, .longestWait)), by: clock) {
            [weak core] in
            core?.change { $0.stop(.finishCurrent) }
        }
    }
}

extension WorkerPool {
    /// Runs a closure on a thread of the pool if its turn comes before a deadline, and returns its
    /// result.
    ///
    /// If the deadline passes first, this throws `SubmitError.late` at once, also while all members
    /// are busy, and the closure never runs. A closure that has begun runs to its end.
    ///
    /// - Parameters:
    ///   - deadline: when the closure must have begun, for example `.now + .seconds(5)`.
    ///   - name: the pool's name or nil for any member, or the name of one member.
    ///   - priority: high before normal before low; equal ones in the order of submits.
    ///   - key: items of the same key run on one thread, one after another.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Throws: `SubmitError.late`; what the closure throws; `SubmitError` when it was refused;
    ///   `CancellationError` when the task was cancelled before its turn.
    /// - Thread: any task.
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func submit<Result: Sendable>(
        before deadline: ContinuousClock.Instant, onThread name: String? = nil,
        priority: SubmitPriority = .normal, key: SubmitKey? = nil,
        _ body: sending @escaping () throws -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws -> Result {
        try await submit(
            before: deadline, clock: ContinuousClock(), onThread: name, priority: priority,
            key: key, body, fileID: fileID, line: line)
    }

    /// Runs a closure on a thread of the pool if its turn comes before a deadline by a clock.
    ///
    /// As `submit(before:onThread:priority:key:_:)`, by any clock.
    ///
    /// - Throws: `SubmitError.late`; what the closure throws; `SubmitError` when it was refused;
    ///   `CancellationError` when the task was cancelled before its turn.
    /// - Thread: any task.
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func submit<Result: Sendable, Time: Clock<Duration>>(
        before deadline: Time.Instant, clock: Time, onThread name: String? = nil,
        priority: SubmitPriority = .normal, key: SubmitKey? = nil,
        _ body: sending @escaping () throws -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws -> Result {
        let deadline = Deadline(deadline, by: clock)
        let thread = name ?? self.name
        return try await result(
            of: {
                // The time limit may come a moment after its date.
                if deadline.hasPassed { throw SubmitError.late(thread: thread) }
                return try body()
            }, onThread: name, priority, key, fileID, line, before: deadline)
    }

    /// Runs an asynchronous closure on a thread of the pool if its turn comes before a deadline.
    ///
    /// The deadline is for the closure's beginning. See `submit(before:onThread:priority:key:_:)`
    /// and the `submit` for asynchronous closures.
    ///
    /// - Parameters:
    ///   - deadline: when the closure must have begun, for example `.now + .seconds(5)`.
    ///   - name: the pool's name or nil for any member, or the name of one member.
    ///   - priority: high before normal before low; equal ones in the order of submits.
    ///   - key: closures of the same key begin on one thread, in order.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Throws: `SubmitError.late`; what the closure throws; `SubmitError` when it was refused;
    ///   `CancellationError` when the task was cancelled before its turn.
    /// - Thread: any task.
    /// - Blocks: no thread; the task is suspended until the closure has returned.
    public nonisolated(nonsending) func submit<Result: Sendable>(
        before deadline: ContinuousClock.Instant, onThread name: String? = nil,
        priority: SubmitPriority = .normal, key: SubmitKey? = nil,
        _ body: sending @escaping @concurrent () async throws -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws -> Result {
        let executor = try await submit(
            before: deadline, clock: ContinuousClock(), onThread: name, priority: priority,
            key: key, { Self.currentExecutor() }, fileID: fileID, line: line)
        return try await withTaskExecutorPreference(executor) { try await body() }
    }

    /// Runs an asynchronous closure on a thread of the pool if its turn comes before a deadline by
    /// a clock.
    ///
    /// As the one with a deadline of the continuous clock, by any clock.
    ///
    /// - Throws: `SubmitError.late`; what the closure throws; `SubmitError` when it was refused;
    ///   `CancellationError` when the task was cancelled before its turn.
    /// - Thread: any task.
    /// - Blocks: no thread; the task is suspended until the closure has returned.
    public nonisolated(nonsending) func submit<Result: Sendable, Time: Clock<Duration>>(
        before deadline: Time.Instant, clock: Time, onThread name: String? = nil,
        priority: SubmitPriority = .normal, key: SubmitKey? = nil,
        _ body: sending @escaping @concurrent () async throws -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws -> Result {
        let executor = try await submit(
            before: deadline, clock: clock, onThread: name, priority: priority, key: key,
            { Self.currentExecutor() }, fileID: fileID, line: line)
        return try await withTaskExecutorPreference(executor) { try await body() }
    }

    /// Waits until all members have ended, or until a deadline.
    ///
    /// As `join()`, which waits as long as it takes. A deadline that has passed asks whether they
    /// have ended.
    ///
    /// - Returns: whether all members have ended, with their run loops and all that was in them.
    /// - Thread: any thread but a member's; several may wait.
    /// - Blocks: until the members have ended, at most until the deadline.
    public func join(until deadline: ContinuousClock.Instant) -> Bool {
        // From the first one again: an ended member may have been replaced as well.
        while let member = firstToEnd() {
            guard member.waitUntilGone(until: deadline) else { return false }
        }
        members.forEach { $0.join() }
        return true
    }

    /// Asks all members to end, and to give up queued work once a time has passed.
    ///
    /// With `.finishQueued`, the members run what was queued before, for so long: when the time has
    /// passed, closures that still wait are refused with `SubmitError.stopped`.
    ///
    /// - Parameters:
    ///   - policy: what happens to queued work until the time has passed.
    ///   - limit: how long queued work may take.
    ///   - clock: what the time limit goes by.
    /// - Thread: any thread.
    /// - Blocks: never.
    public func stop(
        _ policy: StopPolicy, within limit: Duration,
        clock: some Clock<Duration> = ContinuousClock()
    ) {
        stop(policy)
        for member in members { member.stop(policy, within: limit, clock: clock) }
    }
}
