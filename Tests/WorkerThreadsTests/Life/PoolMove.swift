// The moves of a program in a pool's game, and how a program is made up.

import Support
import WorkerThreads

/// One thing that is done to a pool, by its user or by an item that runs on one of its threads.
indirect enum PoolMove: Sendable, Equatable {
    /// Hands over an item, which makes these moves when it runs.
    case item(PoolItem.Address, SubmitPriority, [PoolMove])
    /// Takes back the last item that has a ticket.
    case cancel
    /// To one member, or to all of them.
    case pause(Int?)
    case resume(Int?)
    case stop(Int, StopPolicy)
    /// Runs the loop once more in mode `default`, inside the item.
    case nest
    /// Stands still, inside the item, until all threads do so or sleep and that was looked at.
    case park
    /// Puts a fresh thread in a member's place.
    case replace(Int)
    /// Waits until all threads sleep, stand still or have ended.
    case settle
}

extension PoolMove {
    /// A program for the user of a pool with so many members.
    static func program(_ random: inout SeededRandom, memberCount: Int) -> [PoolMove] {
        let stops = random.chance(30)
        return (0..<(4 + random.below(16))).map { _ in
            move(&random, memberCount, depth: 0, stops: stops)
        }
    }

    private static func move(
        _ random: inout SeededRandom, _ memberCount: Int, depth: Int, stops: Bool
    ) -> PoolMove {
        let member = random.below(memberCount)
        switch random.below(100) {
        case 0..<56: return item(&random, memberCount, depth: depth, stops: stops)
        case 56..<61: return .cancel
        case 61..<71: return .pause(random.chance(30) ? nil : member)
        case 71..<84: return .resume(random.chance(40) ? nil : member)
        case 84..<86: return .replace(member)
        case 86..<91 where depth > 0: return .park
        case 91..<94 where stops:
            return .stop(member, random.chance(60) ? .finishQueued : .finishCurrent)
        default: return depth > 0 ? .nest : .settle
        }
    }

    private static func item(
        _ random: inout SeededRandom, _ memberCount: Int, depth: Int, stops: Bool
    ) -> PoolMove {
        let address: PoolItem.Address =
            switch random.below(10) {
            case 0..<3: .shared
            case 3..<5: .own(random.below(memberCount))
            case 5..<6: .direct(random.below(memberCount))
            default: .key(random.below(4))
            }
        let priority: SubmitPriority =
            random.chance(70) ? .normal : random.chance(50) ? .high : .low
        let moves =
            depth < 3 && random.chance(50 - 10 * depth)
            ? (0..<(1 + random.below(4))).map { _ in
                move(&random, memberCount, depth: depth + 1, stops: stops)
            } : []
        return .item(address, priority, moves)
    }
}

extension PoolMove: GameMove {
    var moves: [PoolMove] {
        get { if case .item(_, _, let moves) = self { moves } else { [] } }
        set {
            if case .item(let address, let priority, _) = self {
                self = .item(address, priority, newValue)
            }
        }
    }
}

extension PoolMove: CustomStringConvertible {
    var description: String {
        switch self {
        case .item(let address, let priority, let moves): "\(address) \(priority) \(moves)"
        case .cancel: "cancel"
        case .pause(let member): "pause \(member.map { "\($0)" } ?? "all")"
        case .resume(let member): "resume \(member.map { "\($0)" } ?? "all")"
        case .stop(let member, let policy): "stop \(member) \(policy)"
        case .nest: "nest"
        case .park: "park"
        case .replace(let member): "replace \(member)"
        case .settle: "settle"
        }
    }
}
