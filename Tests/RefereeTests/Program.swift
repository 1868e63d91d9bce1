// A program over the public operations of a run loop, as a value that can be generated, made
// smaller and printed. It knows neither of the two run loops that play it.

import RunLoops

/// The items of a loop, and the operations that happen in the main list.
struct Program: Sendable {
    var items: [Item]
    var main: [Operation]
}

/// A source, port, observer or timer, with what its callouts do.
struct Item: Sendable {
    enum Kind: Sendable {
        case source(order: Int)
        case port(order: Int, watchesDescriptor: Bool)
        case observer(ThreadRunLoop.Activity, repeats: Bool, order: Int)
        case timer(Due, every: Interval)
    }

    var kind: Kind
    /// The operations of its first callout, its second, and so on; later ones do nothing, so that
    /// every program comes to an end.
    var scripts: [[Operation]]
    /// A mode that a source makes common whenever it enters one.
    var makesCommon: ModeName?
    /// The operations of a source when it first enters a mode of which it is known that it is this
    /// one.
    var whenScheduled: [Operation] = []
    /// The same, when it first leaves one.
    var whenCancelled: [Operation] = []

    /// All that its callouts do.
    var allScripts: [[Operation]] { scripts + [whenScheduled, whenCancelled] }

    var isSource: Bool { if case .source = kind { true } else { false } }
    var isPort: Bool { if case .port = kind { true } else { false } }
    var isTimer: Bool { if case .timer = kind { true } else { false } }
    /// Whether it is a port that ours signals without a descriptor.
    var isSignalPort: Bool {
        if case .port(_, watchesDescriptor: false) = kind { true } else { false }
    }

    /// Whether it is a port that ours watches a descriptor for.
    var isDescriptorPort: Bool {
        if case .port(_, watchesDescriptor: true) = kind { true } else { false }
    }

    /// Whether it is a port whose descriptor holds one message for each signal, not a mark.
    var carriesData = false

    /// Where it stands among items of its kind.
    var order: Int {
        switch kind {
        case .source(let order), .port(let order, _), .observer(_, _, let order): order
        case .timer: 0
        }
    }
}

/// When a timer is due.
enum Due: Sendable, Equatable {
    /// At once; for one that repeats often that is once its next place in the timetable has come,
    /// which the thread waits for: its dates to come keep to its own places.
    case now
    case never
    /// It was due at its place in the turn before this one.
    case past
    /// So many turns of the timetable ahead, a few milliseconds each.
    case soon(Int)
}

/// The effect of a timer's call on its dates.
enum Interval: Sendable, Equatable {
    case once
    /// It repeats, but never in a test.
    case rarely
    /// It repeats every so many turns of the timetable.
    case often(Int)
}

/// A mode of the programs; a run is in any but the common ones.
enum ModeName: String, Sendable, CaseIterable {
    case standard = "default"
    case a = "A"
    case b = "B"
    case c = "C"
    case common = "common"

    static let runnable: [ModeName] = [.standard, .a, .b, .c]
}

/// How long a run lasts.
enum Limit: Sendable {
    /// A time limit of zero: one pass without sleeping.
    case poll
    /// One that had passed before the run began, which is the same.
    case past
    /// Until it has gone to sleep once more than these say: each ends one sleep, a stop the last.
    case sleeps([Ending])
    /// A few milliseconds, in which only the program itself wakes the loop.
    case brief

    var isBrief: Bool { if case .brief = self { true } else { false } }
}

/// The act of the player that ends a sleep about to begin.
struct Ending: Sendable {
    enum Act: Sendable {
        case wakeUp
        /// A source is signalled and the loop woken, or a port is signalled.
        case signal(Int)
        /// Another thread changes where an item is, and wakes the loop.
        case change(Change)
        /// A block is queued and the loop woken.
        case perform(Block)
        case stop
        /// Nothing, if there is a timer that is due soon.
        case nothing
    }

    var act: Act
    var caller: Caller
}

/// The thread that signals, wakes, stops and queues.
enum Caller: String, Sendable {
    /// The loop's own thread.
    case itself
    /// Another thread, for which the loop's thread waits.
    case another
    /// Another thread, once the loop sleeps.
    case anotherDuringSleep
}

/// A change to where items are that any thread may make.
enum Change: Sendable, Equatable {
    case add(Int, ModeName)
    case remove(Int, ModeName)
    case invalidate(Int)
    /// Items of the common modes are in this one too from now on.
    case makeCommon(ModeName)

    /// The item that it is made to; nil for all that are common.
    var item: Int? {
        switch self {
        case .add(let item, _), .remove(let item, _), .invalidate(let item): item
        case .makeCommon: nil
        }
    }

    /// The same, made by the loop's own thread.
    var operation: Operation {
        switch self {
        case .add(let item, let mode): .add(item, mode)
        case .remove(let item, let mode): .remove(item, mode)
        case .invalidate(let item): .invalidate(item)
        case .makeCommon(let mode): .addCommonMode(mode)
        }
    }
}

/// One thing that a program does, at the top level or in a callout.
///
/// Items are named by index.
indirect enum Operation: Sendable {
    case add(Int, ModeName)
    case remove(Int, ModeName)
    case invalidate(Int)
    /// Another thread does it, while the loop's thread waits for that one.
    case changeFromElsewhere(Change)
    case signal(Int, Caller)
    case setDate(Int, Due)
    /// The thread is busy until so many places in the timetable went by.
    case holdUp(Int)
    case wakeUp(Caller)
    case stop(Caller)
    case enqueue(Block, Caller)
    /// A block is queued and the loop woken for it.
    case perform(Block, Caller)
    case addCommonMode(ModeName)
    /// The state of an item goes to the trace.
    case look(Int)
    /// The mode that the loop runs in, and the first timer of each, go to the trace.
    case lookAtLoop
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
        case .port: "port\(item)"
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
                case .port(let order, let watchesDescriptor):
                    "order \(order)\(watchesDescriptor ? ", watches a descriptor" : "")"
                        + (items[index].carriesData ? " with messages" : "")
                case .observer(let activities, let repeats, let order):
                    "order \(order), of \(activities)\(repeats ? "" : ", once")"
                case .timer(let due, let interval): "due \(due), \(interval)"
                }
            lines.append("\(name(index)): \(details)")
            if let mode = items[index].makesCommon {
                lines.append("    makes \(mode.rawValue) common when it enters a mode")
            }
            let callouts =
                items[index].scripts.enumerated().map { ("callout \($0 + 1):", $1) } + [
                    ("entering a mode:", items[index].whenScheduled),
                    ("leaving a mode:", items[index].whenCancelled),
                ]
            for (title, script) in callouts where !script.isEmpty {
                lines.append("    \(title)")
                lines += self.lines(script, indented: "        ")
            }
        }
        return (lines + ["main:"] + self.lines(main, indented: "    ")).joined(separator: "\n")
    }

    private func isUsed(_ index: Int) -> Bool {
        let all = main + items.flatMap { $0.allScripts.flatMap { $0 } }
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
            case .changeFromElsewhere(let change):
                return ["\(indented)\(words(change)) from another thread"]
            case .signal(let item, let caller):
                return ["\(indented)signal \(name(item))\(by(caller))"]
            case .setDate(let item, let due): return ["\(indented)set \(name(item)) due \(due)"]
            case .holdUp(let places): return ["\(indented)be busy for \(places) places"]
            case .wakeUp(let caller): return ["\(indented)wake up\(by(caller))"]
            case .stop(let caller): return ["\(indented)stop\(by(caller))"]
            case .addCommonMode(let mode): return ["\(indented)make \(mode.rawValue) common"]
            case .look(let item): return ["\(indented)look at \(name(item))"]
            case .lookAtLoop: return ["\(indented)look at the loop"]
            case .enqueue(let block, let caller):
                return ["\(indented)enqueue \(words(block))\(by(caller))"]
                    + lines(block.script, indented: indented + "    ")
            case .perform(let block, let caller):
                return ["\(indented)perform \(words(block))\(by(caller))"]
                    + lines(block.script, indented: indented + "    ")
            case .run(let mode, let limit, let returnsAfterSource):
                return [
                    "\(indented)run in \(mode.rawValue), \(words(limit))"
                        + (returnsAfterSource ? ", return after a source" : "")
                ]
            }
        }
    }

    private func by(_ caller: Caller) -> String {
        switch caller {
        case .itself: ""
        case .another: " from another thread"
        case .anotherDuringSleep: " from another thread during the sleep"
        }
    }

    private func words(_ change: Change) -> String {
        switch change {
        case .add(let item, let mode): "add \(name(item)) to \(mode.rawValue)"
        case .remove(let item, let mode): "remove \(name(item)) from \(mode.rawValue)"
        case .invalidate(let item): "invalidate \(name(item))"
        case .makeCommon(let mode): "make \(mode.rawValue) common"
        }
    }

    private func words(_ block: Block) -> String {
        "block\(block.name) for \(block.modes.map(\.rawValue).joined(separator: ", "))"
    }

    private func words(_ limit: Limit) -> String {
        switch limit {
        case .poll: return "one pass"
        case .past: return "one pass, too late"
        case .brief: return "briefly"
        case .sleeps(let endings):
            let ends = endings.map { ending in
                switch ending.act {
                case .wakeUp: "a wake-up\(by(ending.caller))"
                case .signal(let item): "a signal of \(name(item))\(by(ending.caller))"
                case .change(let change): "\(words(change))\(by(ending.caller))"
                case .perform(let block): "\(words(block))\(by(ending.caller))"
                case .stop: "a stop\(by(ending.caller))"
                case .nothing: "a timer"
                }
            }
            return "sleeps ended by: \((ends + ["a stop"]).joined(separator: ", "))"
        }
    }
}

extension Ending.Act {
    /// Whether an item occurs in it.
    func mentions(_ index: Int) -> Bool {
        switch self {
        case .signal(let item): item == index
        case .change(let change): change.item == index
        case .perform(let block): block.mentions(index)
        case .wakeUp, .stop, .nothing: false
        }
    }
}

extension Block {
    /// Whether an item occurs in it.
    func mentions(_ index: Int) -> Bool { script.contains { $0.mentions(index) } }
}

extension Operation {
    /// Whether an item occurs in it.
    func mentions(_ index: Int) -> Bool {
        switch self {
        case .add(let item, _), .remove(let item, _), .invalidate(let item), .signal(let item, _),
            .setDate(let item, _), .look(let item):
            item == index
        case .changeFromElsewhere(let change): change.item == index
        case .enqueue(let block, _), .perform(let block, _): block.mentions(index)
        case .run(_, .sleeps(let endings), _): endings.contains { $0.act.mentions(index) }
        case .wakeUp, .stop, .addCommonMode, .run, .holdUp, .lookAtLoop: false
        }
    }

    /// Whether it can tell if a change by another thread, which has moved some items, is made
    /// already.
    func mayMeet(_ change: Change, of moved: some Sequence<Int>) -> Bool {
        switch self {
        case .addCommonMode, .holdUp, .lookAtLoop: return true
        case .run: return false
        case .add(_, .common), .remove(_, .common):
            if case .makeCommon = change { return true }
        default: break
        }
        return moved.contains(where: mentions)
    }
}
