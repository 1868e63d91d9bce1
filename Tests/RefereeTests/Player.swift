// Plays a program on a machine and notes what is observed. It keeps a run from sleeping in earnest:
// right before each sleep it wakes or stops the loop, unless a timer that is due will.

import RunLoops

/// One play of one program, on one thread.
final class Player {
    let program: Program
    private var trace: [String] = []
    private var books: Books
    private var machine: (any Machine)?
    private var rounds: [Int]
    /// Modes that sources entered and left in the operation under way: the sequence is open.
    private var registrations: [String] = []
    /// How often each run under way may sleep; nil in a brief one, whose sleeps nobody ends.
    private var sleepsLeft: [Int?] = []

    private init(_ program: Program) {
        self.program = program
        rounds = Array(repeating: 0, count: program.items.count)
        books = Books(program) { _, _ in false }
    }

    /// Plays a program.
    ///
    /// - Returns: what was observed.
    static func play<M: Machine>(_ program: Program, on kind: M.Type) -> [String] {
        let player = Player(program)
        let machine = kind.init(program, player: player)
        player.machine = machine
        player.books = Books(program) { [weak machine] item, mode in
            machine.map { $0.isValid(item) && $0.contains(item, in: mode) } ?? false
        }
        for mode in ModeName.runnable { machine.watch(mode) }
        player.play(program.main)
        player.noteEnd(of: machine)
        let trace = player.trace
        machine.close()
        player.machine = nil
        return trace
    }

    // MARK: Callouts of the machine

    func perform(_ item: Int) {
        trace.append("\(program.name(item)) performs")
        mark(books.sourcePerforms(item))
        callout(of: item)
    }

    func tell(_ item: Int, _ activity: ThreadRunLoop.Activity) {
        trace.append("\(program.name(item)) is told \(activity)")
        callout(of: item)
    }

    func fire(_ item: Int) {
        trace.append("\(program.name(item)) fires")
        books.timerBegins(item)
        callout(of: item)
        mark(books.timerEnds(item))
    }

    func schedule(_ item: Int, _ mode: String) {
        registrations.append("\(program.name(item)) is scheduled in \(mode)")
    }

    func cancel(_ item: Int, _ mode: String) {
        registrations.append("\(program.name(item)) is cancelled in \(mode)")
    }

    /// First of all observers.
    func isTold(_ activity: ThreadRunLoop.Activity, in mode: ModeName) {
        trace.append("\(mode.rawValue): \(activity)")
        if activity == .beforeTimers { books.passBegins() }
        if activity == .afterWaiting { books.wokeUp() }
        if activity == .exit { books.hasLooked() }
    }

    /// Ends the sleep that is about to begin.
    func aboutToSleep() {
        guard let machine, let sleeps = sleepsLeft.last else { return }
        guard let left = sleeps else { return mark(books.sleepsInEarnest()) }
        sleepsLeft[sleepsLeft.count - 1] = left - 1
        books.sleeps()
        if books.hasDueTimer { return }
        books.wakes()
        if left <= 1 { machine.stop() } else { machine.wakeUp() }
    }

    // MARK: Operations

    private func callout(of item: Int) {
        let round = rounds[item]
        rounds[item] += 1
        let scripts = program.items[item].scripts
        if round < scripts.count { play(scripts[round]) }
    }

    private func play(_ operations: [Operation]) {
        guard let machine else { return }
        for operation in operations {
            play(operation, on: machine)
            trace += registrations.sorted()
            registrations.removeAll()
            mark(books.standingRule)
        }
    }

    private func play(_ operation: Operation, on machine: any Machine) {
        switch operation {
        case .add(let item, let mode):
            machine.add(item, to: mode)
        case .remove(let item, let mode):
            mark(books.removes(item))
            machine.remove(item, from: mode)
        case .invalidate(let item):
            mark(books.invalidates(item))
            machine.invalidate(item)
        case .signal(let item):
            guard program.items[item].isSource else { return }
            if machine.isValid(item) { books.signals(item) }
            machine.signal(item)
        case .setDate(let item, let due):
            guard program.items[item].isTimer else { return }
            books.sets(item, due)
            machine.setDate(item, due)
        case .wakeUp:
            books.wakes()
            machine.wakeUp()
        case .stop:
            books.wakes()
            machine.stop()
        case .addCommonMode(let mode): machine.addCommonMode(mode)
        case .enqueue(let block): enqueue(block, on: machine)
        case .run(let mode, let limit, let returnsAfterSource):
            run(mode, limit, returnsAfterSource, on: machine)
        }
    }

    private func run(
        _ mode: ModeName, _ limit: Limit, _ returnsAfterSource: Bool, on machine: any Machine
    ) {
        mark(books.runBegins(mode, limit, returnsAfterSource: returnsAfterSource))
        mark(books.standingRule)
        trace.append("run in \(mode.rawValue) begins")
        switch limit {
        case .poll: sleepsLeft.append(1)
        case .sleeps(let count): sleepsLeft.append(count)
        case .brief: sleepsLeft.append(nil)
        }
        let result = machine.run(mode, limit, returnsAfterSource: returnsAfterSource)
        sleepsLeft.removeLast()
        books.runEnds()
        trace.append("run in \(mode.rawValue) ends \(result)")
    }

    private func enqueue(_ block: Block, on machine: any Machine) {
        books.blockIsQueued()
        machine.enqueue(inModes: block.modes) { [weak self] in
            guard let self, self.machine != nil else { return }
            trace.append("block\(block.name) runs")
            books.blockBegins()
            play(block.script)
            books.blockEnds()
        }
    }

    private func mark(_ rule: Rule?) {
        if let rule { trace.append("rule \(rule.rawValue)") }
    }

    private func noteEnd(of machine: any Machine) {
        for item in program.items.indices {
            var modes = ModeName.allCases.filter { machine.contains(item, in: $0) }
            // CFRunLoopContainsTimer knows nothing of a timer that is common but in no mode.
            if program.items[item].isTimer && modes == [.common] { modes = [] }
            let list = modes.map(\.rawValue).joined(separator: ", ")
            let state = machine.isValid(item) ? "valid" : "invalid"
            trace.append("\(program.name(item)) is \(state), in \(list.isEmpty ? "no mode" : list)")
        }
    }
}
