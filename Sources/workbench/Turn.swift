// The order of the cases of a scenario within a round: contenders that are compared are measured by
// turns, one directly after the other. A virtual machine can change its speed within seconds, by a
// half and more.

/// Some cases that are measured one after the other.
struct Turn {
    /// A case and its placement.
    struct Entry {
        let item: Case
        let placement: Placement
    }

    /// Their places among the entries.
    let indices: [Int]
    /// The number of measurements in a round.
    let repetitions: Int

    /// The number for a goal that is a ratio, whose two figures are taken as often in each round.
    private static let repetitionsOfRatios = 3

    /// The turns of a round: in each group those that a goal compares, then the others.
    static func all(of entries: [Entry], _ scenario: Scenario) -> [Turn] {
        var turns: [Turn] = []
        var left = Array(entries.indices)
        while let first = left.first {
            let together = left.filter { entries[$0].isIn(entries[first]) }
            let names = contendersOfRatios(entries[first], scenario)
            var compared = together.filter { names.contains(entries[$0].item.contender) }
            // Alone it is compared with nothing.
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
    /// Whether it is in the same table.
    fileprivate func isIn(_ other: Turn.Entry) -> Bool {
        item.group == other.item.group && placement == other.placement
    }
}
