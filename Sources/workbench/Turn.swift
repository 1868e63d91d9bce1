// In which order the cases of a scenario are measured within a round: what is held against each other,
// by turns and one directly after the other. Such a machine changes its speed within seconds, by a half and more.

/// Some cases that are measured one after the other.
struct Turn {
    /// A case where it is measured.
    struct Entry {
        let item: Case
        let placement: Placement
    }

    /// Where they stand among the entries.
    let indices: [Int]
    /// How often in a round.
    let repetitions: Int

    /// Where a goal is a ratio, its two figures are taken as often in each round.
    private static let repetitionsOfRatios = 3

    /// The turns of a round: in each group those that a goal holds against each other, then the others.
    static func all(of entries: [Entry], _ scenario: Scenario) -> [Turn] {
        var turns: [Turn] = []
        var left = Array(entries.indices)
        while let first = left.first {
            let together = left.filter { entries[$0].isIn(entries[first]) }
            let names = contendersOfRatios(entries[first], scenario)
            var compared = together.filter { names.contains(entries[$0].item.contender) }
            // Alone it is held against nothing.
            if compared.count == 1 { compared = [] }
            let others = together.filter { !compared.contains($0) }
            turns.append(Turn(indices: compared, repetitions: repetitionsOfRatios))
            turns.append(Turn(indices: others, repetitions: 1))
            left.removeAll(where: together.contains)
        }
        return turns
    }

    private static func contendersOfRatios(_ entry: Entry, _ scenario: Scenario) -> Set<String> {
        let goals = Goal.all.filter {
            $0.scenario == scenario.name && $0.group == entry.item.group
                && $0.placement == entry.placement
        }
        let rivals = goals.flatMap(\.limits).compactMap { limit in
            switch limit {
            case .atMost, .atLeast: String?.none
            case .within(_, let name), .better(_, let name): name
            }
        }
        return rivals.isEmpty ? [] : Set(rivals + [Contender.ours])
    }
}

extension Turn.Entry {
    /// Whether it stands in the same table.
    fileprivate func isIn(_ other: Turn.Entry) -> Bool {
        item.group == other.item.group && placement == other.placement
    }
}
