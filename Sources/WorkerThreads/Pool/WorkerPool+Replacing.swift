// Going on without a thread that does not come back from what it runs: a fresh one of the same name
// takes its place and its waiting work. Nothing can end the old one; it ends if it ever comes
// back.

public import Kernel
internal import RunLoops
internal import Synchronization

extension WorkerPool {
    /// Puts a fresh thread in a member's place, and leaves the old one to what it runs.
    ///
    /// Work that waits in the pool's queue, also that for this member alone or for its keys,
    /// is taken by the fresh thread, in order; a member that is paused or told to stop stays so.
    /// The old thread takes nothing any more: when what it runs is over it ends, and `join()` of
    /// the pool does not wait for it. What was handed to the old thread by its own handle, not
    /// through the pool, is refused then; sources, ports and timers of its loop, and actors that
    /// live on it, stay its own.
    ///
    /// For a thread that hangs, as a watchdog tells. One that only takes long goes on beside its
    /// successor, so what both of them touch has to bear that. The fresh one is measured as the old
    /// one was; a watchdog has to be told of it.
    ///
    /// - Parameter name: of a member.
    /// - Returns: the old thread and the fresh one; nil when no member has that name.
    /// - Throws: EAGAIN when the system has no room for a thread; then nothing has changed.
    /// - Thread: any thread. What is asked meanwhile of the member by its own handle, and not of
    ///   the pool, is asked of the old thread.
    /// - Blocks: never; the fresh thread begins by itself.
    @discardableResult
    public func replaceMember(
        named name: String
    ) throws(SystemError) -> (old: WorkerThread, fresh: WorkerThread)? {
        guard indexes[name] != nil else { return nil }
        let fresh = try makeThread(named: name)
        return replaceMember(by: fresh).map { ($0, fresh) }
    }

    /// Makes a thread that may take the place of a member: then nothing can fail any more.
    ///
    /// - Parameter name: the member's.
    /// - Throws: EAGAIN when the system has no room for a thread.
    package func makeThread(named name: String) throws(SystemError) -> WorkerThread {
        try WorkerThread(name: name, poller: SystemPoller(clock: clock))
    }

    /// Lets a thread of `makeThread` go on with the work of the member whose name it has.
    ///
    /// - Returns: the old thread; nil when no member has that name.
    package func replaceMember(by fresh: WorkerThread) -> WorkerThread? {
        guard let index = indexes[fresh.name] else { return nil }
        return changes.withLock { _ in replaceMember(at: index, by: fresh) }
    }

    private func replaceMember(at index: Int, by fresh: WorkerThread) -> WorkerThread {
        let old = members[index]
        let part = PoolMember(index: index, queues: queues, core: fresh.core)
        let parts = parts
        part.wakeOther = { other in parts[other].wake() }
        // A sender that finds it in its seat may wake it before its thread knows of it.
        part.prepare()
        let life = old.core.life.withLock { $0 }
        // One that is told to stop is to begin nothing before it hears of that.
        if life.isPaused || life.stop != nil { fresh.pause() }
        let former = parts[index].seat(part)
        former.giveUpSeat()
        threads.replace(index, by: fresh)
        fresh.core.attach(part)
        // It was not there when the thread, maybe paused already, began its life.
        fresh.core.callFromControl { [core = fresh.core] _ in part.workerLifeChanged(core) }
        if let policy = life.stop { fresh.stop(policy) }
        fresh.isMeasured = old.isMeasured
        old.isMeasured = false
        old.stop(.finishCurrent)
        return old
    }
}
