// Wrong passwords by network address, and how long the next guess of each has to wait. Pure.

package import Kernel

/// The memory of wrong guesses.
package struct GuessBook {
    /// When a guess may be looked at.
    package enum Turn: Equatable {
        case now
        case later(Instant)
        /// Too many guesses wait already.
        case never
    }

    private struct Entry {
        var wrongCount = 0
        var nextTurn: Instant
        var lastWrong: Instant
    }

    private var entries: [String: Entry] = [:]

    /// Addresses with an entry of their own; the rest share one, so that memory has a bound.
    package static let addressCountMax = 1_024
    /// A slip of the pen costs little.
    private static let firstDelay = Duration.milliseconds(50)
    /// A client that shares its address with an attacker still comes in.
    private static let delayMax = Duration.seconds(2)
    /// Guesses that would wait longer are refused: their connections are closed before.
    private static let queueMax = Duration.seconds(10)
    /// An address is forgotten so long after its last wrong guess; less would make waiting pay.
    private static let memory = Duration.seconds(60)
    private static let sharedKey = ""

    package init() {}

    /// Takes a turn for a guess: guesses of one address are looked at one after another.
    package mutating func takeTurn(of address: String, now: Instant) -> Turn {
        let key = key(of: address)
        guard var entry = entries[key] else { return .now }
        if entry.lastWrong.advanced(by: Self.memory) <= now {
            entries[key] = nil
            return .now
        }
        let turn = max(now, entry.nextTurn)
        guard now.duration(to: turn) <= Self.queueMax else { return .never }
        entry.nextTurn = turn.advanced(by: Self.delay(afterWrong: entry.wrongCount))
        entries[key] = entry
        return turn == now ? .now : .later(turn)
    }

    /// Remembers a wrong guess.
    package mutating func guessedWrong(_ address: String, now: Instant) {
        if entries.count >= Self.addressCountMax, entries[address] == nil {
            entries = entries.filter { $0.value.lastWrong.advanced(by: Self.memory) > now }
        }
        let key = key(of: address)
        var entry = entries[key] ?? Entry(nextTurn: now, lastWrong: now)
        entry.wrongCount += 1
        entry.lastWrong = now
        let next = now.advanced(by: Self.delay(afterWrong: entry.wrongCount))
        entry.nextTurn = max(entry.nextTurn, next)
        entries[key] = entry
    }

    private func key(of address: String) -> String {
        let isKnown = entries[address] != nil || entries.count < Self.addressCountMax
        return isKnown ? address : Self.sharedKey
    }

    /// Twice as long after each wrong guess.
    private static func delay(afterWrong count: Int) -> Duration {
        min(delayMax, firstDelay * (1 << min(count - 1, 16)))
    }
}
