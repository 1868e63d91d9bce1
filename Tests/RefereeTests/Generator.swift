// Makes a program from a seed: the same one for the same seed, on every machine.

import RunLoops
import Support

struct Generator {
    private var random: SeededRandom
    private var blockCount = 0
    private var items: [Item] = []
    /// Items of a kind that there are many of.
    private var crowd = 0..<0
    /// Observers of equal order.
    private var equals: Set<Int> = []
    /// Whose callout is being made up.
    private var own: Int?

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    /// The next program.
    mutating func program() -> Program {
        blockCount = 0
        items = kinds().map { Item(kind: $0, scripts: []) }
        for index in items.indices where items[index].isDescriptorPort {
            items[index].carriesData = random.chance(40)
        }
        makeEquals()
        addCrowd()
        for index in items.indices {
            let count = Int.random(in: 0...(crowd.contains(index) ? 1 : 3), using: &random)
            own = index
            items[index].scripts = (0..<count).map { _ in script(atMost: 2, depth: 2) }
            guard items[index].isSource else { continue }
            if random.chance(8) { items[index].whenScheduled = script(atMost: 2, depth: 1) }
            if random.chance(8) { items[index].whenCancelled = script(atMost: 2, depth: 1) }
        }
        own = nil
        var main = runsThatMissDates()
        for index in items.indices.dropLast(crowd.count) where random.chance(80) {
            main.append(.add(index, mode(for: index)))
        }
        main += gathering()
        for _ in 0..<Int.random(in: 4...12, using: &random) {
            main.append(operation(depth: 2))
            if Int.random(in: 0..<3, using: &random) == 0 { main.append(run()) }
        }
        main.append(run())
        for index in items.indices where items[index].isSource && random.chance(2) {
            items[index].makesCommon = runnableMode()
        }
        return Program(items: items, main: main)
    }

    /// Runs in one mode while dates of a timer in another go by, and then in that one.
    ///
    /// It is called once for them, and keeps to those that come. Or it misses some as it is called.
    private mutating func runsThatMissDates() -> [Operation] {
        let timers = items.indices.filter { items[$0].isTimer && hasPlace($0) }
            .shuffled(using: &random)
        guard timers.count > 1, random.chance(30) else { return [] }
        for timer in timers[..<2] {
            let interval = Interval.often(Int.random(in: 1...2, using: &random))
            items[timer].kind = .timer(.soon(1), every: interval)
            if random.chance(40) { items[timer].scripts.insert([holdUp()], at: 0) }
        }
        func run(_ mode: ModeName, _ count: Int) -> Operation {
            let endings = Array(repeating: Ending(act: .nothing, caller: .itself), count: count)
            return .run(mode, .sleeps(endings), returnsAfterSource: false)
        }
        return [
            .add(timers[0], .a), .add(timers[1], .standard),
            run(.standard, Int.random(in: 1...4, using: &random)),
            run(.a, Int.random(in: 1...3, using: &random)),
        ]
    }

    /// Now and then some observers are of one order: they are told in the sequence in which they
    /// were added.
    private mutating func makeEquals() {
        equals = []
        guard random.chance(40) else { return }
        let order = 11
        for index in items.indices {
            guard case .observer(let activities, let repeats, _) = items[index].kind,
                random.chance(75)
            else { continue }
            items[index].kind = .observer(activities, repeats: repeats, order: order)
            equals.insert(index)
        }
    }

    /// Now and then there are more of a kind than the loop looks through one by one.
    private mutating func addCrowd() {
        crowd = items.count..<items.count
        guard random.chance(10) else { return }
        var orders = (Array(-40 ... -10) + Array(10...40)).shuffled(using: &random)
        let choice = Int.random(in: 0..<4, using: &random)
        for _ in 0..<Int.random(in: 18...24, using: &random) {
            let kind: Item.Kind =
                switch choice {
                case 0: .source(order: orders.removeLast())
                case 1:
                    .observer(activities(), repeats: !random.chance(25), order: orders.removeLast())
                case 2: .port(order: orders.removeLast(), watchesDescriptor: false)
                default: .timer(dueWithoutPlace(), every: random.chance(50) ? .once : .rarely)
                }
            items.append(Item(kind: kind, scripts: []))
        }
        crowd = crowd.lowerBound..<items.count
    }

    /// Brings most of the crowd into one mode, and signals many of its sources.
    private mutating func gathering() -> [Operation] {
        let place = mode()
        var operations: [Operation] = []
        for index in crowd where random.chance(90) { operations.append(.add(index, place)) }
        for index in crowd where items[index].isSource && random.chance(50) {
            operations.append(.signal(index, .itself))
        }
        return operations
    }

    /// When a timer is due that has no place of its own in the timetable.
    private mutating func dueWithoutPlace() -> Due { random.chance(70) ? .now : .never }

    private func hasPlace(_ timer: Int) -> Bool {
        items[..<timer].count(where: \.isTimer) < Timetable.lanes
    }

    private mutating func holdUp() -> Operation { .holdUp(Int.random(in: 1...7, using: &random)) }

    /// Some items of each kind; no two of a kind are of the same order.
    private mutating func kinds() -> [Item.Kind] {
        var orders = Array(-9...9).shuffled(using: &random)
        var kinds: [Item.Kind] = []
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            kinds.append(.source(order: orders.removeLast()))
        }
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            kinds.append(
                .observer(
                    activities(), repeats: Int.random(in: 0..<4, using: &random) > 0,
                    order: orders.removeLast()))
        }
        if Int.random(in: 0..<3, using: &random) > 0 {
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                kinds.append(
                    .port(
                        order: orders.removeLast(),
                        watchesDescriptor: Int.random(in: 0..<3, using: &random) > 0))
            }
        }
        for _ in 0..<Int.random(in: 0...Timetable.lanes, using: &random) {
            let interval = interval()
            kinds.append(.timer(due(every: interval), every: interval))
        }
        return kinds
    }

    /// A timer that repeats often keeps to its own places in the timetable from the beginning.
    private mutating func due(every interval: Interval) -> Due {
        switch Int.random(in: 0..<48, using: &random) {
        case 0..<23: if case .often = interval { .soon(1) } else { .now }
        case 23: .past
        case 24..<32: .never
        default: .soon(Int.random(in: 1...2, using: &random))
        }
    }

    private mutating func interval() -> Interval {
        switch Int.random(in: 0..<5, using: &random) {
        case 0..<2: .once
        case 2: .rarely
        default: .often(Int.random(in: 1...2, using: &random))
        }
    }

    private mutating func caller() -> Caller {
        Int.random(in: 0..<4, using: &random) == 0 ? .another : .itself
    }

    private mutating func activities() -> ThreadRunLoop.Activity {
        if Bool.random(using: &random) { return .all }
        let bits = UInt8.random(in: 0...UInt8.max, using: &random)
        return ThreadRunLoop.Activity(rawValue: bits).intersection(.all)
    }

    private mutating func mode() -> ModeName {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<5: .standard
        case 5..<7: .common
        case 7..<9: .a
        default: random.chance(75) ? .b : .c
        }
    }

    /// A mode for an item.
    ///
    /// Of observers of equal order the sequence counts, in which CFRunLoop leaves open what is
    /// common.
    private mutating func mode(for item: Int) -> ModeName {
        let mode = mode()
        return mode == .common && equals.contains(item) ? .standard : mode
    }

    private mutating func runnableMode() -> ModeName {
        let mode = mode()
        return mode == .common ? .a : mode
    }

    private mutating func script(atMost count: Int, depth: Int) -> [Operation] {
        (0..<Int.random(in: 0...count, using: &random)).map { _ in operation(depth: depth) }
    }

    private mutating func run() -> Operation {
        let limit: Limit =
            switch Int.random(in: 0..<20, using: &random) {
            case 0: .brief
            case 1: .past
            case 2..<10: .poll
            default: .sleeps((0..<Int.random(in: 0...3, using: &random)).map { _ in ending() })
            }
        let returnsAfterSource = Int.random(in: 0..<3, using: &random) == 0
        return .run(runnableMode(), limit, returnsAfterSource: returnsAfterSource)
    }

    private mutating func setDate() -> Operation {
        let timers = items.indices.filter { items[$0].isTimer }
        let itself = own.flatMap { items[$0].isTimer && random.chance(40) ? $0 : nil }
        guard let item = itself ?? timers.randomElement(using: &random),
            case .timer(_, let interval) = items[item].kind
        else { return .signal(source(), caller()) }
        guard hasPlace(item) else { return .setDate(item, dueWithoutPlace()) }
        switch Int.random(in: 0..<24, using: &random) {
        case 0: return .setDate(item, .past)
        case 1..<7: return .setDate(item, .now)
        default: return .setDate(item, due(every: interval))
        }
    }

    private mutating func ending() -> Ending {
        let act: Ending.Act =
            switch Int.random(in: 0..<23, using: &random) {
            case 0..<4: .wakeUp
            case 4..<6: .signal(source())
            case 6..<12: port().map { .signal($0) } ?? .wakeUp
            case 12..<14: .change(change())
            case 14: .perform(block(depth: 1))
            case 15: .stop
            // Again and again, so that a timer that repeats has to keep its dates.
            default: .nothing
            }
        let caller: Caller =
            switch Int.random(in: 0..<6, using: &random) {
            case 0..<4: .itself
            case 4: .another
            default: .anotherDuringSleep
            }
        return Ending(act: act, caller: caller)
    }

    /// Where an item is, changed from elsewhere.
    ///
    /// A port on a descriptor is added by its loop's own thread only.
    private mutating func change() -> Change {
        var item = items.indices.randomElement(using: &random) ?? 0
        // An observer is told of the rest of the pass, where it counts when ours does it.
        if case .observer = items[item].kind { item = source() }
        switch Int.random(in: 0..<11, using: &random) {
        case 0..<6 where !items[item].isDescriptorPort: return .add(item, mode(for: item))
        case 6..<8: return .invalidate(item)
        case 8: return .makeCommon(runnableMode())
        default: return .remove(item, mode())
        }
    }

    private mutating func operation(depth: Int) -> Operation {
        let any = items.indices.randomElement(using: &random) ?? 0
        let item = own.flatMap { random.chance(20) ? $0 : nil } ?? any
        switch Int.random(in: 0..<117, using: &random) {
        case 113...: return .lookAtLoop
        case 105...: return .look(item)
        case 104: return holdUp()
        case 100...: return .changeFromElsewhere(change())
        case 0..<15: return .add(item, mode(for: item))
        case 15..<22: return .remove(item, mode())
        case 22..<27: return .invalidate(item)
        case 27..<45: return .signal(source(), caller())
        case 45..<52: return .signal(port() ?? source(), caller())
        case 52..<55: return .add(item, mode(for: item))
        case 55..<58: return .wakeUp(caller())
        case 58..<60: return .look(item)
        case 60..<66: return .stop(caller())
        case 66..<80 where depth > 0: return enqueue(depth: depth - 1)
        case 80..<84: return .addCommonMode(runnableMode())
        case 84..<91: return setDate()
        default: return run()
        }
    }

    private mutating func source() -> Int {
        items.indices.filter { items[$0].isSource }.randomElement(using: &random) ?? 0
    }

    private mutating func port() -> Int? {
        items.indices.filter { items[$0].isPort }.randomElement(using: &random)
    }

    private mutating func enqueue(depth: Int) -> Operation {
        let block = block(depth: depth)
        return random.chance(40) ? .perform(block, caller()) : .enqueue(block, caller())
    }

    private mutating func block(depth: Int) -> Block {
        blockCount += 1
        let name = blockCount
        let modes = Int.random(in: 0..<3, using: &random) > 0 ? [mode()] : [mode(), mode()]
        return Block(name: name, modes: modes, script: script(atMost: 2, depth: depth))
    }
}
