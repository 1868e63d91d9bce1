// Mutants of our loop for the referee to find: each has one fault, which it shows by playing
// another program than it was given, or by leaving something out. Mutants of the loop's own code
// are in Tests/Mutants, for `Scripts/referee --mutants`.

import Kernel
import RunLoops

/// A fault of a machine.
protocol Fault: SendableMetatype {
    /// The items that a machine with this fault makes, in place of those it was asked for.
    static func changed(_ item: Item) -> Item
    /// Whether the machine leaves out an operation.
    static func leavesOut(_ operation: MachineOperation) -> Bool
}

/// An operation that a machine may leave out.
enum MachineOperation { case addCommonMode, remove, setDate }

extension Fault {
    static func changed(_ item: Item) -> Item { item }
    static func leavesOut(_ operation: MachineOperation) -> Bool { false }
}

/// Observers of one order are told of in reverse, for they are given orders of their own.
enum ObserversReversed: Fault {
    static func changed(_ item: Item) -> Item {
        guard case .observer(let activities, let repeats, let order) = item.kind else {
            return item
        }
        var item = item
        item.kind = .observer(activities, repeats: repeats, order: -order)
        return item
    }
}

/// Sources with a smaller order perform last.
enum SourcesReversed: Fault {
    static func changed(_ item: Item) -> Item {
        guard case .source(let order) = item.kind else { return item }
        var item = item
        item.kind = .source(order: -order)
        return item
    }
}

/// Observers of one time are told again.
enum ObserversRepeat: Fault {
    static func changed(_ item: Item) -> Item {
        guard case .observer(let activities, _, let order) = item.kind else { return item }
        var item = item
        item.kind = .observer(activities, repeats: true, order: order)
        return item
    }
}

/// A mode that is made common gets nothing of what is common.
enum CommonIgnored: Fault {
    static func leavesOut(_ operation: MachineOperation) -> Bool { operation == .addCommonMode }
}

/// Removed items stay.
enum RemovalIgnored: Fault {
    static func leavesOut(_ operation: MachineOperation) -> Bool { operation == .remove }
}

/// A timer's date can't be changed.
enum DateIgnored: Fault {
    static func leavesOut(_ operation: MachineOperation) -> Bool { operation == .setDate }
}

/// Our loop with a fault.
final class MutantMachine<Its: Fault>: Machine {
    static var tellsOfWaitingWithReadyPort: Bool { OurMachine.tellsOfWaitingWithReadyPort }

    private let machine: OurMachine

    init(_ program: Program, player: Player) {
        var program = program
        program.items = program.items.map(Its.changed)
        machine = OurMachine(program, player: player)
    }

    func add(_ item: Int, to mode: ModeName) { machine.add(item, to: mode) }

    func remove(_ item: Int, from mode: ModeName) {
        if !Its.leavesOut(.remove) { machine.remove(item, from: mode) }
    }

    func invalidate(_ item: Int) { machine.invalidate(item) }
    func change(_ change: Change) { machine.change(change) }
    func takeChanges() { machine.takeChanges() }
    func signal(_ item: Int) { machine.signal(item) }

    func setDate(_ item: Int, _ date: TimerDate) {
        if !Its.leavesOut(.setDate) { machine.setDate(item, date) }
    }

    func wakeUp() { machine.wakeUp() }
    func stop() { machine.stop() }

    func enqueue(inModes modes: [ModeName], _ body: @escaping () -> Void) {
        machine.enqueue(inModes: modes, body)
    }

    func perform(inModes modes: [ModeName], _ body: @escaping () -> Void) {
        machine.perform(inModes: modes, body)
    }

    func addCommonMode(_ mode: ModeName) {
        if !Its.leavesOut(.addCommonMode) { machine.addCommonMode(mode) }
    }

    func run(_ mode: ModeName, for duration: Duration, returnsAfterSource: Bool)
        -> ThreadRunLoop.RunResult
    {
        machine.run(mode, for: duration, returnsAfterSource: returnsAfterSource)
    }

    func contains(_ item: Int, in mode: ModeName) -> Bool { machine.contains(item, in: mode) }
    func isValid(_ item: Int) -> Bool { machine.isValid(item) }
    func fireDate(of timer: Int) -> Instant { machine.fireDate(of: timer) }
    func nextFireDate(in mode: ModeName) -> Instant? { machine.nextFireDate(in: mode) }
    var currentMode: ModeName? { machine.currentMode }
    var isWaiting: Bool { machine.isWaiting }
    func watch(_ mode: ModeName) { machine.watch(mode) }
    func close() { machine.close() }
}
