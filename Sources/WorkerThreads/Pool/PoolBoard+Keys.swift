// Which member runs what has a key: one and the same for all items of a key, from the first that is
// submitted until the last has ended.
//
// A binding counts its items, so there are never more bindings than items that wait or run. An item
// is unbound only after it has run: the next one of its key begins after all that it did, wherever
// it runs.

internal import Structures

extension PoolBoard {
    /// A key that has work.
    struct Binding {
        var member: Int
        /// Its items that wait or run.
        var count: Int
    }

    /// How many keys have work.
    package var boundKeyCount: Int { bindings.count }

    /// Counts one more item of a key, and chooses a member for it.
    ///
    /// - Parameters:
    ///   - avoided: members that get a new key only if no other member can have it.
    ///   - life: tells whether a member was asked to pause or stop, also before its thread has told
    ///     the board.
    /// - Returns: the member to whose own queue the item belongs; nil when no member takes any, or
    ///   when the key's own refuses what it has not begun and has not ended.
    /// - Complexity: O(1) for a key that has work, else O(members).
    package mutating func bind(
        _ key: SubmitKey, besides avoided: Set<Int> = [], life: @Sendable (Int) -> LifeCycle
    ) -> Int? {
        if !isClosed, let bound = bindings[key], !hasEnded(bound.member) {
            // One that was told to finish runs what is its own: the items before this one as well.
            guard life(bound.member).stop != .finishCurrent else { return nil }
            bindings[key]?.count += 1
            return bound.member
        }
        let open = own.indices.filter { !isClosed(.own(member: $0)) }
            .map { (member: $0, life: life($0)) }.filter { $0.life.shouldKeepRunning }
        let choice = open.min {
            load(of: $0.member, $0.life, besides: avoided)
                < load(of: $1.member, $1.life, besides: avoided)
        }
        guard let member = choice?.member else { return nil }
        bindings[key, default: Binding(member: member, count: 0)].member = member
        bindings[key]?.count += 1
        return member
    }

    /// Counts one item of a key less: it has run, or never will.
    package mutating func unbind(_ key: SubmitKey) {
        guard let count = bindings[key]?.count else { return }
        if count == 1 { bindings[key] = nil } else { bindings[key]?.count = count - 1 }
    }

    /// A member's load, by which `bind` chooses: members that are not avoided come first, then
    /// members that are not paused, then members with fewer waiting items.
    private func load(
        of member: Int, _ life: LifeCycle, besides avoided: Set<Int>
    ) -> (Int, Int, Int) {
        (
            avoided.contains(member) ? 1 : 0, life.isPaused ? 1 : 0,
            own[member].count + (isIdle(member) ? 0 : 1)
        )
    }
}
