// The contents of a command buffer: waiting commands, and the array in which they are handed over.

internal import Kernel
internal import RunLoops
public import Structures
internal import Synchronization

/// The commands of one buffer, added by many threads and drained by one.
@usableFromInline
final class CommandStore<Command: Sendable>: @unchecked Sendable {
    // SAFETY: `batch` and `pace` are touched on the loop's thread only; the rest is safe from any
    // thread.

    @usableFromInline let room: Room
    @usableFromInline let inbox = Inbox<Command>()
    /// Empty between two drains; kept for its memory.
    @usableFromInline var batch: [Command] = []
    @usableFromInline var pace = StreamPace()
    /// Commands that waited at the end of the loop's thread.
    private let leftBehind = Mutex<[Command]>([])
    /// How many those were.
    let abandonedCount = Atomic<Int>(0)

    /// The most commands for which the array's memory is kept.
    @inlinable static var keptCount: Int { 4_096 }

    init(limit: Int) {
        room = Room(limit: limit)
    }

    /// - Returns: false when it is full or closed.
    @inlinable
    @inline(__always)
    func add(_ command: consuming Command) -> Bool {
        guard room.take() else { return false }
        return inbox.push(command) != .closed
    }

    var isEmpty: Bool { inbox.isEmpty }

    /// Hands over what has arrived; on the loop's thread.
    ///
    /// - Returns: false when some of it was just being added and had to be left.
    @inlinable
    func drain(with perform: ([Command]) -> Void) -> Bool {
        // A nested run may perform the source again: it must not find this batch in use.
        var commands: [Command] = []
        swap(&commands, &batch)
        pace.gather()
        let isWhole = inbox.drain(into: &commands)
        pace.note(count: commands.count)
        if !isWhole { giveWay() }
        if !commands.isEmpty {
            room.giveBack(commands.count)
            perform(commands)
            commands.removeAll(keepingCapacity: commands.count <= Self.keptCount)
        }
        swap(&commands, &batch)
        return isWhole
    }

    @usableFromInline
    func giveWay() { SystemThread.yield() }

    /// Refuses later commands; on the loop's thread, or when no loop performs the source any more.
    ///
    /// - Returns: those that waited, also at the end of the loop's thread.
    func close() -> [Command] {
        var left: [Command] = []
        inbox.close(into: &left, waiting: SystemThread.yield)
        return leftBehind.withLock { leftBehind in
            defer { leftBehind = [] }
            return leftBehind + left
        }
    }

    /// Refuses later commands, and keeps those that waited for `close`: no loop performs them.
    fileprivate func abandon() {
        let left = close()
        guard !left.isEmpty else { return }
        abandonedCount.add(left.count, ordering: .relaxed)
        ThreadRunLoop.noteAbandoned(left.count)
        leftBehind.withLock { $0 = left }
    }
}

/// Closes a store when its source, which alone holds this, becomes invalid.
///
/// So a command is either added before, and counted or returned, or refused.
final class StoreCloser<Command: Sendable>: Sendable {
    private let store: CommandStore<Command>

    init(_ store: CommandStore<Command>) { self.store = store }

    deinit { store.abandon() }
}
