// What the player has to know of a program under way to tell where a rule applies, from the
// operations and callouts alone: it asks neither machine.

/// What was signalled, queued and set so far.
struct Books {
    /// A run under way, and the sources that it performs one after another right now.
    private struct Run {
        let mode: ModeName
        let blockDepth: Int
    }

    private let program: Program
    var blocksWaiting = 0
    private var blockDepth = 0
    private var runs: [Run] = []

    init(_ program: Program) {
        self.program = program
    }

    /// Whether a timer will end the sleep that is about to begin.
    var hasDueTimer: Bool { false }

    mutating func blockBegins() {
        blocksWaiting -= 1
        blockDepth += 1
    }

    mutating func blockEnds() {
        blockDepth -= 1
    }

    mutating func runBegins(_ mode: ModeName) -> Rule? {
        runs.append(Run(mode: mode, blockDepth: blockDepth))
        return blockDepth > 0 && blocksWaiting > 0 ? .blocksInNestedRun : nil
    }

    mutating func runEnds() {
        runs.removeLast()
    }

    mutating func signals(_ item: Int, isValid: Bool) {}
    mutating func sourcePerforms(_ item: Int) -> Rule? { nil }
    mutating func invalidates(_ item: Int) -> Rule? { nil }
    mutating func sets(_ item: Int, _ due: Due) {}
    mutating func timerBegins(_ item: Int) {}
    mutating func timerEnds(_ item: Int) {}
}
