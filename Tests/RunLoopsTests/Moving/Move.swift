// The moves of a program of a moving game, and how one is made up.

import RunLoops
import Support

/// One thing that is done to loops and what is in them, by their user or out of a callout.
///
/// Items and loops are numbered; a number too large begins again at the first one.
indirect enum Move: Sendable, Equatable {
    /// Makes an item that is in no loop yet, and makes these moves in its first call, or as it
    /// enters or leaves a mode for the first time, as its kind says.
    case make(MovedItem.Kind, [Move])
    case add(item: Int, loop: Int, mode: ThreadRunLoop.Mode)
    case remove(item: Int, mode: ThreadRunLoop.Mode)
    /// Takes an item out of all modes, and puts it into a loop at once, be it the same one.
    case carry(item: Int, loop: Int, mode: ThreadRunLoop.Mode)
    /// Takes an item out of all modes; from then on any thread may put it into a loop.
    case free(item: Int)
    case invalidate(item: Int)
    case signal(item: Int)
    /// Sets a timer to a date so many milliseconds from now.
    case setDate(item: Int, Int)
    /// Has a port listen to its descriptor, or not.
    case listen(item: Int, Bool)
    /// Has a loop call a closure that makes moves so many milliseconds from now.
    case schedule(loop: Int, mode: ThreadRunLoop.Mode, Int, [Move])
    case cancelTimeout(Int)
    /// Puts a time-out off to so many milliseconds from now.
    case postpone(timeout: Int, Int)
    /// Measures a loop from now on, or no more.
    case measure(loop: Int, Bool)
    /// Makes moves in a block of a loop.
    case perform(loop: Int, [Move])
    /// Runs the loop once more, inside of a callout.
    case nest(mode: ThreadRunLoop.Mode)
    case stop(loop: Int)
    /// Has a loop's thread run it in the other mode from now on.
    case turn(loop: Int)
    case makeCommon(loop: Int, mode: ThreadRunLoop.Mode)
    /// Lets a loop's thread end.
    case end(loop: Int)
    /// Moves the clock by so many milliseconds.
    case advance(Int)
    /// Waits until all loops sleep.
    case settle
}

extension Move {
    /// A program for a user.
    static func program(_ random: inout SeededRandom) -> [Move] {
        let ends = random.chance(40)
        // Something to play with.
        let items = (0..<(2 + random.below(4))).flatMap { index in
            [
                make(&random, depth: 0, ends: ends),
                .add(item: index, loop: random.below(3), mode: mode(&random)),
            ]
        }
        return items + (0..<(4 + random.below(20))).map { _ in move(&random, depth: 0, ends: ends) }
    }

    private static func move(_ random: inout SeededRandom, depth: Int, ends: Bool) -> Move {
        let item = random.below(8)
        let loop = random.below(3)
        return switch random.below(100) {
        case 0..<10: make(&random, depth: depth, ends: ends)
        case 10..<24: .add(item: item, loop: loop, mode: mode(&random))
        case 24..<30: .remove(item: item, mode: mode(&random))
        case 30..<44: .carry(item: item, loop: loop, mode: mode(&random))
        case 44..<47: .free(item: item)
        case 47..<51: .invalidate(item: item)
        case 51..<63: .signal(item: item)
        case 63..<65: .setDate(item: item, random.below(4))
        case 65..<67: .listen(item: item, random.chance(50))
        case 67..<71:
            .schedule(
                loop: loop, mode: random.chance(70) ? .default : "A", random.below(4),
                moves(&random, depth: depth, ends: ends))
        case 71..<72: .cancelTimeout(item)
        case 72..<74: .postpone(timeout: item, random.below(4))
        case 74..<75: .measure(loop: loop, random.chance(70))
        case 75..<80: .perform(loop: loop, moves(&random, depth: depth, ends: ends))
        case 80..<85: depth > 0 ? .nest(mode: random.chance(70) ? .default : "A") : .settle
        case 85..<87: .stop(loop: loop)
        case 87..<90: .turn(loop: loop)
        case 90..<91: .makeCommon(loop: loop, mode: "A")
        case 91..<92: ends ? .end(loop: loop) : .stop(loop: loop)
        case 92..<98: .advance(random.below(4))
        default: .settle
        }
    }

    private static func make(_ random: inout SeededRandom, depth: Int, ends: Bool) -> Move {
        .make(
            MovedItem.Kind.allCases[random.below(MovedItem.Kind.allCases.count)],
            moves(&random, depth: depth, ends: ends))
    }

    private static func mode(_ random: inout SeededRandom) -> ThreadRunLoop.Mode {
        switch random.below(10) {
        case 0..<6: .default
        case 6..<8: "A"
        default: .common
        }
    }

    /// The moves of a callout: fewer the deeper it lies.
    private static func moves(_ random: inout SeededRandom, depth: Int, ends: Bool) -> [Move] {
        guard depth < 3, random.chance(75 - 20 * depth) else { return [] }
        return (0..<(1 + random.below(4))).map { _ in move(&random, depth: depth + 1, ends: ends) }
    }
}

extension Move: GameMove {
    var moves: [Move] {
        get {
            switch self {
            case .make(_, let moves), .perform(_, let moves), .schedule(_, _, _, let moves): moves
            default: []
            }
        }
        set {
            switch self {
            case .make(let kind, _): self = .make(kind, newValue)
            case .perform(let loop, _): self = .perform(loop: loop, newValue)
            case .schedule(let loop, let mode, let milliseconds, _):
                self = .schedule(loop: loop, mode: mode, milliseconds, newValue)
            default: break
            }
        }
    }
}

extension Move: CustomStringConvertible {
    var description: String {
        switch self {
        case .make(let kind, let moves): "make \(kind)\(moves)"
        case .add(let item, let loop, let mode): "add \(item) to \(mode) of \(loop)"
        case .remove(let item, let mode): "remove \(item) from \(mode)"
        case .carry(let item, let loop, let mode): "carry \(item) to \(mode) of \(loop)"
        case .free(let item): "free \(item)"
        case .invalidate(let item): "invalidate \(item)"
        case .signal(let item): "signal \(item)"
        case .setDate(let item, let milliseconds): "date of \(item) in \(milliseconds)"
        case .listen(let item, let isOn): "\(isOn ? "listen" : "be deaf") to \(item)"
        case .schedule(let loop, let mode, let milliseconds, let moves):
            "in \(milliseconds) in \(mode) of \(loop) \(moves)"
        case .cancelTimeout(let timeout): "cancel time-out \(timeout)"
        case .postpone(let timeout, let milliseconds):
            "postpone \(timeout) to \(milliseconds) from now"
        case .measure(let loop, let isOn): "\(isOn ? "measure" : "don't measure") \(loop)"
        case .perform(let loop, let moves): "perform in \(loop) \(moves)"
        case .nest(let mode): "nest \(mode)"
        case .stop(let loop): "stop \(loop)"
        case .turn(let loop): "turn \(loop)"
        case .makeCommon(let loop, let mode): "make \(mode) common in \(loop)"
        case .end(let loop): "end \(loop)"
        case .advance(let milliseconds): "advance \(milliseconds)"
        case .settle: "settle"
        }
    }
}
