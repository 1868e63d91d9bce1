// What a command buffer holds: commands that wait, and the array in which they are handed over.

internal import Kernel
public import Structures

/// The commands of one buffer, added by many threads and drained by one.
@usableFromInline
final class CommandStore<Command: Sendable>: @unchecked Sendable {
    // SAFETY: `batch` and `pace` are touched on the loop's thread only; the rest is safe from any thread.

    @usableFromInline let room: Room
    @usableFromInline let inbox = Inbox<Command>()
    /// Empty between two drains; kept for its memory.
    @usableFromInline var batch: [Command] = []
    @usableFromInline var pace = StreamPace()

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
    /// - Returns: those that waited.
    func close() -> [Command] {
        var left: [Command] = []
        inbox.close(into: &left, waiting: SystemThread.yield)
        return left
    }
}
