// The answers of several nodes to one command, until all are there and become one.

internal import Jobs
internal import RESP

/// An answer that is put together from the answers of several nodes.
///
/// Confined to its session's loop.
final class GatheredAnswer {
    private var parts: [RESPValue?]
    private var missingCount: Int
    private let whenAll: ([RESPValue]) -> Void

    /// - Parameter whenAll: called once with all parts, in order; with an error alone if one is.
    init(partCount: Int, whenAll: @escaping ([RESPValue]) -> Void) {
        parts = Array(repeating: nil, count: partCount)
        missingCount = partCount
        self.whenAll = whenAll
        if partCount == 0 { whenAll([]) }
    }

    /// Adds a part; a second one in the same place comes too late.
    func add(_ part: RESPValue, at place: Int) {
        guard parts[place] == nil else { return }
        parts[place] = part
        missingCount -= 1
        guard missingCount == 0 else { return }
        let parts = parts.compactMap { $0 }
        let error = parts.first { $0.errorWord != nil }
        whenAll(error.map { [$0] } ?? parts)
    }
}

/// The rows of a listing by the node that they came from.
struct NodeRows {
    /// A row, where its part is, and whether its node is the owner of its thread.
    struct Row {
        let value: RESPValue
        let place: Int
        let isOfOwner: Bool
    }

    /// The rows in the order in which they were added, each key once.
    private(set) var rows: [String: Row] = [:]
    private(set) var keys: [String] = []

    /// Adds a row; of two with one key the owner's stays.
    mutating func add(_ row: Row, under key: String) {
        guard let present = rows[key] else {
            keys.append(key)
            rows[key] = row
            return
        }
        if row.isOfOwner, !present.isOfOwner { rows[key] = row }
    }

    /// All rows in order.
    var all: [Row] { keys.compactMap { rows[$0] } }
}

extension NodeMerge {
    /// Makes one answer of the answers of all nodes.
    ///
    /// - Parameters:
    ///   - parts: the answers, that of this node first; an error alone.
    ///   - nodes: the nodes of the other parts, in their order.
    func merge(
        _ parts: [RESPValue], of nodes: [StoreNode], _ command: Command, _ service: Service,
        _ user: User
    ) -> RESPValue {
        if let error = parts.first, error.errorWord != nil { return error }
        switch self {
        case .sum: return .sum(of: parts)
        case .one: return parts.first ?? .null
        case .pool: return .pool(of: parts)
        case .threads:
            let merged = rows(parts, nodes, service, by: "name", thread: "name").all
            // The rows of a spread pool are together, whichever node they are of.
            var pools: [String] = []
            var ofPool: [String: [RESPValue]] = [:]
            for row in merged {
                let pool = ThreadGroup.name(of: row.value["name"]?.text ?? "")
                if ofPool[pool] == nil { pools.append(pool) }
                let node = row.place == 0 ? service.nodeName : nodes[row.place - 1].name
                ofPool[pool, default: []].append(row.value.adding(entry("node", text(node))))
            }
            return .array(pools.flatMap { ofPool[$0] ?? [] })
        case .failures:
            return ToldFailures.answer(
                of: parts.flatMap { ($0.elements ?? []).compactMap { ToldFailures($0) } })
        case .schedules:
            let merged = rows(parts, nodes, service, by: "name", thread: "thread")
            return .array(merged.keys.sorted().compactMap { merged.rows[$0]?.value })
        case .jobs:
            let merged = rows(parts, nodes, service, by: "id", thread: "thread").all
            guard let arguments = try? JobsArguments(command, service, user) else {
                return .array(merged.map(\.value))
            }
            let isNewestFirst = arguments.span.order == .newestFirst
            let numbered = merged.map { (number: $0.value["id"]?.integer ?? 0, row: $0.value) }
            let sorted = numbered.sorted {
                isNewestFirst ? $0.number > $1.number : $0.number < $1.number
            }
            return .array(sorted.prefix(arguments.limit).map(\.row))
        }
    }

    private func rows(
        _ parts: [RESPValue], _ nodes: [StoreNode], _ service: Service, by key: String,
        thread: String
    ) -> NodeRows {
        var rows = NodeRows()
        for (place, part) in parts.enumerated() {
            for row in part.elements ?? [] {
                guard let name = row[key].flatMap({ $0.text ?? $0.integer.map(String.init) }) else {
                    continue
                }
                let owner = row[thread]?.text.flatMap { service.owner(ofThread: $0) }
                let isOfOwner =
                    switch owner {
                    case .here: place == 0
                    case .node(let node): place > 0 && nodes[place - 1].id == node.id
                    case .nobody, nil: place == 0
                    }
                // Each node has threads of its own of a spread pool.
                let isOfEach = key == thread && service.isOfSpreadPool(name)
                rows.add(
                    NodeRows.Row(value: row, place: place, isOfOwner: isOfOwner),
                    under: isOfEach ? "\(name) \(place)" : name)
            }
        }
        return rows
    }
}

extension RESPValue {
    /// The part of an answer that has come over a link: that node's end is not this one's.
    func part(of link: NodeLink) -> RESPValue {
        guard errorWord == WireError.Word.shuttingDown.rawValue else { return self }
        return WireError(.busy, "node \(link.node.name) is going down").reply
    }

    /// The sum of numbers; an error alone.
    static func sum(of parts: [RESPValue]) -> RESPValue {
        if let error = parts.first, error.errorWord != nil { return error }
        return .integer(parts.reduce(0) { $0 + ($1.integer ?? 0) })
    }

    /// The description of a pool by one of its nodes, with the counts of all.
    fileprivate static func pool(of parts: [RESPValue]) -> RESPValue {
        guard let first = parts.first, first.errorWord == nil else { return parts.first ?? .null }
        var sum = first
        for word in ["waiting", "running", "awaiting-workers"] {
            let counts = parts.compactMap { $0[word]?.integer }
            if !counts.isEmpty { sum = sum.setting(word, to: .integer(counts.reduce(0, +))) }
        }
        return sum
    }

    /// A map with another value of an entry.
    private func setting(_ word: String, to value: RESPValue) -> RESPValue {
        switch self {
        case .map(let entries):
            return .map(entries.filter { $0.key.text != word } + [entry(word, value)])
        case .array(var elements):
            for index in stride(from: 0, to: elements.count - 1, by: 2)
            where elements[index].text == word { elements[index + 1] = value }
            return .array(elements)
        default: return self
        }
    }

    /// A map with one entry more, or the flat array that version 2 has for it.
    fileprivate func adding(_ entry: Entry) -> RESPValue {
        switch self {
        case .map(let entries): .map(entries + [entry])
        case .array(let elements): .array(elements + [entry.key, entry.value])
        default: self
        }
    }
}
