// A custom source and the buffer that it drains: commands are collected without disturbing the
// thread, then handed over together by one firing. Apple's guide builds one by hand ("Defining a
// Custom Input Source"); this is that one, finished.

public import RunLoops
internal import Structures
internal import Synchronization

/// Commands for another thread, collected by many and performed by one.
///
/// Adding does not wake the thread. A firing does, and what was added before it is performed
/// together, in order; many firings before the thread gets there are one.
///
/// - Source: Apple, Threading Programming Guide, "Defining a Custom Input Source".
public final class CommandBuffer<Command: Sendable>: Sendable {
    /// Tells a client that the buffer can now be fired on a loop, or no longer.
    public typealias ClientNotice =
        @Sendable (CommandBuffer, ThreadRunLoop, ThreadRunLoop.Mode) ->
        Void

    private let inbox = Inbox<Command>()
    private let source: ThreadRunLoop.Source
    private let clients = Mutex<[Client]>([])
    private let waitingCount = Atomic<Int>(0)
    /// The most commands that may wait; `Int.max` for as many as memory holds.
    public let limit: Int

    private struct Client {
        let scheduled: ClientNotice
        let cancelled: ClientNotice
    }

    /// What the source's callouts reach the buffer by, without holding it.
    private final class Back: @unchecked Sendable {
        // SAFETY: `buffer` is set once, before the source is in any loop; `batch` is touched on the
        // loop's thread only.
        weak var buffer: CommandBuffer?
        var batch: [Command] = []
    }

    /// A buffer that is in no loop yet.
    ///
    /// - Parameters:
    ///   - limit: the most commands that may wait; `Int.max` for no limit.
    ///   - order: its source's place among those of the loop; smaller ones perform first.
    ///   - perform: called on the loop's thread with everything that was added before a firing,
    ///     at least one command.
    public init(
        limit: Int = .max, order: Int = 0, perform: @escaping @Sendable ([Command]) -> Void
    ) {
        let back = Back()
        source = ThreadRunLoop.Source(
            order: order,
            schedule: { loop, mode in back.buffer?.tellScheduled(loop, mode) },
            cancel: { loop, mode in back.buffer?.tellCancelled(loop, mode) },
            perform: { back.buffer?.drain(with: back, perform) })
        self.limit = limit
        back.buffer = self
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
    public func add(_ command: Command) -> Bool {
        guard source.isValid else { return false }
        if limit != .max {
            let (_, count) = waitingCount.add(1, ordering: .relaxed)
            if count > limit {
                waitingCount.subtract(1, ordering: .relaxed)
                return false
            }
        }
        return inbox.push(command) != .closed
    }

    /// Hands over what was added: signals the source and wakes its loop.
    ///
    /// - Thread: any thread.
    /// - Blocks: never; a system call only if the loop sleeps.
    public func fire() {
        source.signal()
        source.loop?.wakeUp()
    }

    /// Puts the buffer into a mode of a loop; registered clients are told.
    ///
    /// - Thread: any thread.
    public func add(to loop: ThreadRunLoop, mode: ThreadRunLoop.Mode = .default) {
        loop.add(source, to: mode)
    }

    /// Registers a client that learns which loops and modes the buffer enters and leaves.
    ///
    /// - Parameters:
    ///   - scheduled: called on the loop's thread for each mode entered from now on.
    ///   - cancelled: called on the loop's thread for each mode left.
    /// - Thread: any thread.
    public func registerClient(scheduled: @escaping ClientNotice, cancelled: @escaping ClientNotice)
    {
        clients.withLock { $0.append(Client(scheduled: scheduled, cancelled: cancelled)) }
    }

    /// Takes the buffer out of its modes for good and refuses later commands.
    ///
    /// - Returns: the commands that nobody will perform, in order.
    /// - Thread: the loop's own thread, or any thread once no loop performs it.
    @discardableResult
    public func invalidate() -> [Command] {
        source.invalidate()
        var left: [Command] = []
        inbox.close(into: &left)
        return left
    }

    /// Whether nothing waits.
    ///
    /// - Thread: any thread; out of date as soon as it is known.
    public var isEmpty: Bool { inbox.isEmpty }

    private func drain(with back: Back, _ perform: ([Command]) -> Void) {
        // A nested run may perform the source again: it must not find this batch in use.
        var commands: [Command] = []
        swap(&commands, &back.batch)
        inbox.drain(into: &commands)
        guard !commands.isEmpty else { return swap(&commands, &back.batch) }
        if limit != .max { waitingCount.subtract(commands.count, ordering: .relaxed) }
        perform(commands)
        commands.removeAll(keepingCapacity: commands.count <= 4_096)
        swap(&commands, &back.batch)
    }

    private func tellScheduled(_ loop: ThreadRunLoop, _ mode: ThreadRunLoop.Mode) {
        for client in clients.withLock({ $0 }) { client.scheduled(self, loop, mode) }
    }

    private func tellCancelled(_ loop: ThreadRunLoop, _ mode: ThreadRunLoop.Mode) {
        for client in clients.withLock({ $0 }) { client.cancelled(self, loop, mode) }
    }
}
