// Which known word a misspelt one was meant to be.

/// The known word that is at most two slips of the pen away from `word`, upper or lower case aside.
///
/// - Returns: the nearest one, the first of several; nil if none is near.
/// - Complexity: O(known × length²); words over 64 characters have no neighbour.
func nearest(to word: String, among known: [String]) -> String? {
    let letters = Array(word.lowercased())
    guard letters.count <= 64 else { return nil }
    var best: (word: String, distance: Int)?
    for candidate in known {
        let distance = editDistance(letters, Array(candidate.lowercased()))
        // A word of which nothing is left is no slip of the pen.
        if distance <= 2, distance < letters.count, distance < best?.distance ?? .max {
            best = (candidate, distance)
        }
    }
    return best?.word
}

/// How many letters must be put in, taken out, replaced, or swapped with their neighbour.
///
/// - Source: Damerau, "A technique for computer detection and correction of spelling errors", 1964;
///   the variant in which no stretch is edited twice.
private func editDistance(_ left: [Character], _ right: [Character]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for row in left.indices {
        var current = [row + 1]
        for column in right.indices {
            let replaced = last[column] + (left[row] == right[column] ? 0 : 1)
            var cost = min(replaced, last[column + 1] + 1, current[column] + 1)
            if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                cost = min(cost, beforeLast[column - 1] + 1)
            }
            current.append(cost)
        }
        (beforeLast, last) = (last, current)
    }
    return last[right.count]
}
