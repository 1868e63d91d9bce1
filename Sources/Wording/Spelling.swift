// Suggestions for a misspelt word: a command, an option, a key of the configuration.

/// Finds the known word that was meant.
package enum Spelling {
    /// The known word that is one or two slips away from `word`, or begins with it, ignoring case.
    ///
    /// Short words have to be nearer: everything is two slips away from a word of three letters.
    ///
    /// - Returns: the nearest one, the first of several; nil if none is near.
    /// - Complexity: O(known × length²); words over 64 characters have no neighbour.
    package static func nearest(to word: String, among known: [String]) -> String? {
        let letters = Array(word.lowercased())
        guard letters.count > 2, letters.count <= 64 else { return nil }
        var best: (word: String, distance: Int)?
        for candidate in known {
            let distance = distance(letters, Array(candidate.lowercased()))
            if distance <= min(2, letters.count / 3), distance < best?.distance ?? .max {
                best = (candidate, distance)
            }
        }
        return best?.word ?? known.first { $0.lowercased().hasPrefix(word.lowercased()) }
    }

    /// The number of letters to insert, delete, replace, or swap with their neighbour.
    ///
    /// - Source: Damerau, "A technique for computer detection and correction of spelling errors",
    ///   1964; the variant in which no stretch is edited twice.
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let replaced = last[column] + (left[row] == right[column] ? 0 : 1)
                var cost = min(replaced, last[column + 1] + 1, current[column] + 1)
                let isSwap =
                    row > 0 && column > 0 && left[row] == right[column - 1]
                    && left[row - 1] == right[column]
                if isSwap { cost = min(cost, beforeLast[column - 1] + 1) }
                current.append(cost)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}
