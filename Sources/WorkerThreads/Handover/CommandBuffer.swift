// A custom source and the buffer that it drains: commands are collected without disturbing the
// thread, then handed over together by one firing. Apple's guide builds one by hand ("Defining a
// Custom Input Source"); this is that one, finished.

internal import Kernel
public import RunLoops
internal import Synchronization

/// Commands for another thread, collected by many and performed by one.
///
/// Adding does not wake the thread. A firing does, and what was added before it is performed
/// together, in order; many firings before the thread gets there are one.
///
/// Keep it for as long as its commands are to be performed: its loop does not. Once the last
/// reference to it is gone, what was added and not yet performed is let go of.
///
/// - Source: Apple, Threading Programming Guide, "Defining a Custom Input Source".
public final class CommandBuffer<Command: Sendable>: Sendable {
    /// Tells a client that the buffer can now be fired on a loop, or no longer.
    public typealias ClientNotice =
        @Sendable (CommandBuffer, ThreadRunLoop, ThreadRunLoop.Mode) ->
        Void

    @usableFromInline let store: CommandStore<Command>
    @usableFromInline let source: ThreadRunLoop.Source
    let clients = Mutex(Clients())
    /// The most commands that may wait; `Int.max` for as many as memory allows.
    public var limit: Int { store.room.limit }

    /// A buffer that is in no loop yet.
    ///
    /// - Parameters:
    ///   - limit: the most commands that may wait, at least 1; `Int.max` for no limit.
    ///   - order: its source's place among those of the loop; smaller ones perform first.
    ///   - perform: called on the loop's thread with everything that was added before a firing,
    ///     at least one command.
    ///   - fileID: the caller's file, told of its performs while its loop is measured.
    ///   - line: the caller's line.
    @inlinable
    public convenience init(
        limit: Int = .max, order: Int = 0, perform: @escaping @Sendable ([Command]) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        // Inlined where the type of the commands is known: what is done for each of them costs ten
        // times as much where it is not.
        self.init(
            limit: limit, order: order, drain: { store in store.drain(with: perform) },
            fileID: fileID, line: line)
    }

    @usableFromInline
    init(
        limit: Int, order: Int, drain: @escaping @Sendable (CommandStore<Command>) -> Bool,
        fileID: StaticString, line: UInt
    ) {
        require(limit > 0, "a buffer holds at least 1 command, not \(limit)")
        // Set before the source is in any loop.
        let backToBuffer = BackReference<CommandBuffer>()
        let backToSource = BackReference<ThreadRunLoop.Source>()
        let store = CommandStore<Command>(limit: limit)
        let closer = StoreCloser(store)
        self.store = store
        source = ThreadRunLoop.Source(
            order: order,
            schedule: { loop, mode in
                // A firing that found no loop could wake none.
                if !store.isEmpty { loop.wakeUp() }
                backToBuffer.target?.tellEntered(loop, mode)
            },
            cancel: { loop, mode in backToBuffer.target?.tellLeft(loop, mode) },
            perform: {
                defer { withExtendedLifetime(closer) {} }
                if !drain(store) { backToSource.target?.signalAndWake() }
            }, fileID: fileID, line: line)
        backToBuffer.target = self
        backToSource.target = source
    }

    deinit {
        source.invalidate()
    }

    /// Adds a command; nothing happens before a firing.
    ///
    /// - Returns: false when it was refused: the buffer is full, was invalidated, or its loop's
    ///   thread has ended.
    /// - Thread: any thread; the commands of one thread keep their order.
    /// - Blocks: never.
    @discardableResult
    @inlinable
    @inline(__always)
    public func add(_ command: consuming Command) -> Bool {
        guard source.isValid else { return false }
        return store.add(command)
    }

    /// Hands over what was added: signals the source and wakes its loop.
    ///
    /// - Thread: any thread.
    /// - Blocks: never; a system call only if the loop sleeps.
    @inlinable
    public func fire() {
        // Signalled already: that sender wakes the loop, and what was added before this is seen
        // by the same perform.
        if !source.isSignalled { source.signalAndWake() }
    }

    /// Puts the buffer into a mode of a loop; registered clients are told.
    ///
    /// A loop whose thread has ended takes nothing: the buffer is invalid then.
    ///
    /// - Thread: any thread.
    public func add(to loop: ThreadRunLoop, mode: ThreadRunLoop.Mode = .default) {
        if !loop.add(signalled: source, to: mode) { source.invalidate() }
    }

    /// Takes the buffer out of its modes for good and refuses later commands.
    ///
    /// - Returns: the commands that will not be performed, in order.
    /// - Thread: the loop's own thread, or any thread once no loop performs it.
    @discardableResult
    public func invalidate() -> [Command] {
        // First: what an invalid source leaves behind counts as abandoned.
        let left = store.close()
        source.invalidate()
        return left
    }

    /// How many commands were added and never performed, because the loop's thread had ended.
    ///
    /// `invalidate` returns them.
    ///
    /// - Thread: any thread; final once the thread has been joined.
    public var abandonedCount: Int { store.abandonedCount.load(ordering: .relaxed) }

    /// Whether nothing waits.
    ///
    /// - Thread: any thread; out of date as soon as it is known.
    public var isEmpty: Bool { store.isEmpty }
}
