// A program over the public operations of a run loop, as a value that can be generated, made
// smaller and printed. It knows neither of the two run loops that play it.

import RunLoops

/// What is put into a loop, and the operations that happen in the main list.
struct Program: Sendable {
    var items: [Item]
    var main: [Operation]
}

/// A source, observer or timer, with what its callouts do.
struct Item: Sendable {
    enum Kind: Sendable {
        case source(order: Int)
        case observer(ThreadRunLoop.Activity, repeats: Bool, order: Int)
        case timer(Due, repeats: Bool)
    }

    var kind: Kind
    /// What its first callout does, its second, and so on; later ones do nothing, so that every
    /// program comes to an end.
    var scripts: [[Operation]]

    var isSource: Bool { if case .source = kind { true } else { false } }
    var isTimer: Bool { if case .timer = kind { true } else { false } }

    /// Where it stands among items of its kind.
    var order: Int {
        switch kind {
        case .source(let order), .observer(_, _, let order): order
        case .timer: 0
        }
    }
}

/// When a timer is due.
///
/// What lies between can't be compared without sleeping.
enum Due: String, Sendable {
    case now, never
}

/// A mode of the programs; a run is in one of the first three.
enum ModeName: String, Sendable, CaseIterable {
    case standard = "default"
    case a = "A"
    case b = "B"
    case common = "common"

    static let runnable: [ModeName] = [.standard, .a, .b]
}

/// How long a run lasts.
enum Limit: Sendable, Equatable {
    /// A time limit of zero: one pass without sleeping.
    case poll
    /// Until it has gone to sleep so many times: the player ends each sleep, the last by a stop.
    case sleeps(Int)
    /// A few milliseconds, in which nobody but the program itself wakes the loop.
    case brief
}

/// One thing that a program does, at the top level or in a callout.
///
/// Items are named by index.
indirect enum Operation: Sendable {
    case add(Int, ModeName)
    case remove(Int, ModeName)
    case invalidate(Int)
    case signal(Int)
    case setDate(Int, Due)
    case wakeUp
    case stop
    case enqueue(Block)
    case addCommonMode(ModeName)
    case run(ModeName, Limit, returnsAfterSource: Bool)
}

/// A block with the modes in which it may run, and what it does.
struct Block: Sendable {
    var name: Int
    var modes: [ModeName]
    var script: [Operation]
}

extension Program: CustomStringConvertible {
    func name(_ item: Int) -> String {
        switch items[item].kind {
        case .source: "source\(item)"
        case .observer: "observer\(item)"
        case .timer: "timer\(item)"
        }
    }

    var description: String {
        var lines: [String] = []
        for index in items.indices where isUsed(index) {
            let details =
                switch items[index].kind {
                case .source(let order): "order \(order)"
                case .observer(let activities, let repeats, let order):
                    "order \(order), of \(activities)\(repeats ? "" : ", once")"
                case .timer(let due, let repeats): "due \(due)\(repeats ? ", repeats" : "")"
                }
            lines.append("\(name(index)): \(details)")
            for (round, script) in items[index].scripts.enumerated() where !script.isEmpty {
                lines.append("    callout \(round + 1):")
                lines += self.lines(script, indented: "        ")
            }
        }
        return (lines + ["main:"] + self.lines(main, indented: "    ")).joined(separator: "\n")
    }

    private func isUsed(_ index: Int) -> Bool {
        let all = main + items.flatMap { $0.scripts.flatMap { $0 } }
        return all.contains { $0.mentions(index) }
    }

    private func lines(_ operations: [Operation], indented: String) -> [String] {
        operations.flatMap { operation -> [String] in
            switch operation {
            case .add(let item, let mode):
                return ["\(indented)add \(name(item)) to \(mode.rawValue)"]
            case .remove(let item, let mode):
                return ["\(indented)remove \(name(item)) from \(mode.rawValue)"]
            case .invalidate(let item): return ["\(indented)invalidate \(name(item))"]
            case .signal(let item): return ["\(indented)signal \(name(item))"]
            case .setDate(let item, let due): return ["\(indented)set \(name(item)) due \(due)"]
            case .wakeUp: return ["\(indented)wake up"]
            case .stop: return ["\(indented)stop"]
            case .addCommonMode(let mode): return ["\(indented)make \(mode.rawValue) common"]
            case .enqueue(let block):
                let modes = block.modes.map(\.rawValue).joined(separator: ", ")
                return ["\(indented)enqueue block\(block.name) for \(modes)"]
                    + lines(block.script, indented: indented + "    ")
            case .run(let mode, let limit, let returnsAfterSource):
                return [
                    "\(indented)run in \(mode.rawValue), limit \(limit)"
                        + (returnsAfterSource ? ", return after a source" : "")
                ]
            }
        }
    }
}

extension Operation {
    /// Whether an item occurs in it.
    func mentions(_ index: Int) -> Bool {
        switch self {
        case .add(let item, _), .remove(let item, _), .invalidate(let item), .signal(let item),
            .setDate(let item, _):
            item == index
        case .enqueue(let block): block.script.contains { $0.mentions(index) }
        case .wakeUp, .stop, .addCommonMode, .run: false
        }
    }
}
