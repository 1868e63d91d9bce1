// The operations that a run loop needs to play a program. Two machines do: ours and
// CoreFoundation's.

import Kernel
import RunLoops

/// A run loop with the items of a program, on the thread that made it.
///
/// - Thread: its own; `change`, `signal`, `wakeUp`, `stop`, `enqueue`, `perform` and `isWaiting`
///   any.
protocol Machine: AnyObject, SendableMetatype {
    /// Whether observers are told of the waiting although a port is ready, so that there is none.
    static var tellsOfWaitingWithReadyPort: Bool { get }

    /// The calling thread's run loop, with the program's items in no mode yet.
    init(_ program: Program, player: Player)

    func add(_ item: Int, to mode: ModeName)
    func remove(_ item: Int, from mode: ModeName)
    func invalidate(_ item: Int)
    /// Changes where an item is, as any thread may, and wakes the loop.
    func change(_ change: Change)
    /// Does what others asked for, while no run is under way.
    func takeChanges()
    /// Signals a source, or makes a port ready.
    func signal(_ item: Int)
    func setDate(_ item: Int, _ date: TimerDate)
    func wakeUp()
    func stop()
    func enqueue(inModes modes: [ModeName], _ body: @escaping () -> Void)
    /// Queues a block and wakes the loop for it.
    func perform(inModes modes: [ModeName], _ body: @escaping () -> Void)
    func addCommonMode(_ mode: ModeName)
    func run(_ mode: ModeName, for duration: Duration, returnsAfterSource: Bool)
        -> ThreadRunLoop.RunResult
    func contains(_ item: Int, in mode: ModeName) -> Bool
    func isValid(_ item: Int) -> Bool
    /// When a valid timer is due.
    func fireDate(of timer: Int) -> Instant
    /// When the first timer of a mode is due; nil without one.
    func nextFireDate(in mode: ModeName) -> Instant?
    /// The mode of the innermost run under way.
    var currentMode: ModeName? { get }
    /// Whether the loop sleeps right now.
    var isWaiting: Bool { get }
    /// Adds the observers that call `player.isTold(_:in:)` first of all, and
    /// `player.aboutToSleep()` last of all before the loop sleeps.
    func watch(_ mode: ModeName)
    /// Leaves nothing behind that could call the player.
    func close()
}

/// When a timer is due, by the clock.
enum TimerDate {
    case now, never
    /// Ahead, unless it is a repeating timer's that was past when it was set.
    case at(Instant)
}

/// An interval that never passes in a test.
let rareInterval = Duration.seconds(1_000_000)

/// Something that is handed to another thread while its owner waits.
struct Carried<Value>: @unchecked Sendable {
    // SAFETY: the thread that made it waits for the other one, or sleeps, until that has finished;
    // a CFRunLoop may be woken by any thread.
    let value: Value
}
