// The moves of a program in a life game, and how a program is made up.

import Support
import WorkerThreads

/// One thing that is done to a worker thread, by its user or by an item that runs on it.
indirect enum LifeMove: Sendable, Equatable {
    /// Hands over an item, which makes these moves when it runs.
    case item(LifeItem.Kind, [LifeMove])
    /// Takes back the last item that has a ticket.
    case cancel
    case pause
    case resume
    case stop(StopPolicy)
    /// Runs the loop once more in mode `default`, inside the item.
    case nest
    /// Serves a job in mode `job`, inside the item, until a block of that mode has made these
    /// moves.
    case serve([LifeMove])
    /// Moves the clock by so many milliseconds.
    case advance(Int)
    /// Waits until the thread sleeps or has ended.
    case settle
}

extension LifeMove {
    /// A program for the user.
    static func program(_ random: inout SeededRandom) -> [LifeMove] {
        // Few lives are stopped early: most are to go on.
        let stops = random.chance(30)
        return (0..<(4 + random.below(16))).map { _ in move(&random, depth: 0, stops: stops) }
    }

    private static func move(_ random: inout SeededRandom, depth: Int, stops: Bool) -> LifeMove {
        switch random.below(100) {
        case 0..<52: item(&random, depth: depth, stops: stops)
        case 52..<57: .cancel
        case 57..<66: .pause
        case 66..<78: .resume
        case 78..<80: stops ? .stop(random.chance(60) ? .finishQueued : .finishCurrent) : .resume
        case 80..<87: .advance(random.below(4))
        case 87..<94: depth > 0 ? .nest : .settle
        default: depth > 0 ? .serve(moves(&random, depth: depth, stops: stops)) : .settle
        }
    }

    private static func item(_ random: inout SeededRandom, depth: Int, stops: Bool) -> LifeMove {
        let kind: LifeItem.Kind =
            switch random.below(16) {
            case 0..<3: .submitted
            case 3..<5: .awaited
            case 5: .delayed(milliseconds: random.below(4))
            case 6..<8: .command
            case 8: .task
            case 9: random.chance(50) ? .task : .sleeper(milliseconds: random.below(4))
            case 10..<12: .performed
            case 12..<14: .message
            default: .block
            }
        return .item(kind, moves(&random, depth: depth, stops: stops))
    }

    /// The moves of an item: mostly none, and fewer the deeper it lies.
    private static func moves(_ random: inout SeededRandom, depth: Int, stops: Bool) -> [LifeMove] {
        guard depth < 3, random.chance(60 - 15 * depth) else { return [] }
        return (0..<(1 + random.below(4))).map { _ in move(&random, depth: depth + 1, stops: stops)
        }
    }
}

extension LifeMove: GameMove {
    var moves: [LifeMove] {
        get {
            switch self {
            case .item(_, let moves), .serve(let moves): moves
            default: []
            }
        }
        set {
            switch self {
            case .item(let kind, _): self = .item(kind, newValue)
            case .serve: self = .serve(newValue)
            default: break
            }
        }
    }
}

/// The player that makes a move.
enum LifePlayer: Sendable {
    case user
    case thread
}

extension LifeMove: CustomStringConvertible {
    var description: String {
        switch self {
        case .item(let kind, let moves): "\(kind)\(moves)"
        case .serve(let moves): "serve\(moves)"
        case .cancel: "cancel"
        case .pause: "pause"
        case .resume: "resume"
        case .stop(let policy): "stop(\(policy))"
        case .nest: "nest"
        case .advance(let milliseconds): "advance \(milliseconds)"
        case .settle: "settle"
        }
    }
}
