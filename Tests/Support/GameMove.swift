// Makes the program of a game smaller while it still fails, so that a person can read it.

/// One move of a program, which may hold others.
package protocol GameMove: Sendable {
    var moves: [Self] { get set }
}

extension GameMove {
    /// The program without every move that its failure does not need.
    ///
    /// - Parameter fails: whether a program still shows a failure.
    package static func shrink(_ program: [Self], while fails: ([Self]) throws -> Bool) rethrows
        -> [Self]
    {
        for shorter in shorter(program) where try fails(shorter) {
            return try shrink(shorter, while: fails)
        }
        return program
    }

    /// Every program that is this one without one of its moves, or without a move inside one of
    /// them.
    private static func shorter(_ program: [Self]) -> [[Self]] {
        program.indices.flatMap { index -> [[Self]] in
            var without = program
            without.remove(at: index)
            return [without]
                + shorter(program[index].moves).map { moves in
                    var changed = program
                    changed[index].moves = moves
                    return changed
                }
        }
    }
}
