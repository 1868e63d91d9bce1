// What a run loop has to offer to play a program. Two machines do: ours and CoreFoundation's.

import RunLoops

/// A run loop with the items of a program, on the thread that made it.
protocol Machine: AnyObject {
    /// The calling thread's run loop, with the program's items in no mode yet.
    init(_ program: Program, player: Player)

    func add(_ item: Int, to mode: ModeName)
    func remove(_ item: Int, from mode: ModeName)
    func invalidate(_ item: Int)
    func signal(_ item: Int)
    func setDate(_ item: Int, _ due: Due)
    func wakeUp()
    func stop()
    func enqueue(inModes modes: [ModeName], _ body: @escaping () -> Void)
    func addCommonMode(_ mode: ModeName)
    func run(_ mode: ModeName, _ limit: Limit, returnsAfterSource: Bool)
        -> ThreadRunLoop.RunResult
    func contains(_ item: Int, in mode: ModeName) -> Bool
    func isValid(_ item: Int) -> Bool
    /// Adds the observers that call `player.isTold(_:in:)` first of all, and
    /// `player.aboutToSleep()` last of all before the loop sleeps.
    func watch(_ mode: ModeName)
    /// Leaves nothing behind that could call the player.
    func close()
}

/// How long a run may sleep when it is not woken as it should be: the difference is then seen in
/// the trace, instead of a test that hangs.
let longestSleep = Duration.seconds(1)

extension Limit {
    /// What the machines are told.
    var duration: Duration {
        switch self {
        case .poll: .zero
        case .sleeps: longestSleep
        case .brief: .milliseconds(4)
        }
    }
}
