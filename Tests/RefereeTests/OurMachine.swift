// The run loop of this package as a machine.

import Kernel
import RunLoops

final class OurMachine: Machine {
    static var tellsOfWaitingWithReadyPort: Bool { false }

    private let loop = ThreadRunLoop.current
    private var descriptors: [Int: EventPort] = [:]
    /// In place of each timer that is played as a time-out a timer that is in no loop.
    private var items: [ThreadRunLoop.Item] = []
    private var timeouts: [Int: TimeoutItem] = [:]
    private var guards: [ThreadRunLoop.Observer] = []
    private let player: Confined<Player>

    init(_ program: Program, player: Player) {
        let boxed = Confined(player, to: ThreadRunLoop.current)
        self.player = boxed
        for (index, item) in program.items.enumerated() {
            switch item.kind {
            case .source(let order):
                items.append(
                    ThreadRunLoop.Source(
                        order: order,
                        schedule: { _, mode in boxed.value.schedule(index, mode.name) },
                        cancel: { _, mode in boxed.value.cancel(index, mode.name) },
                        perform: { boxed.value.perform(index) }))
            case .observer(let activities, let repeats, let order):
                items.append(
                    ThreadRunLoop.Observer(activities, repeats: repeats, order: order) {
                        boxed.value.tell(index, $1)
                    })
            case .port(let order, watchesDescriptor: false):
                items.append(
                    ThreadRunLoop.Port(order: order) { _, _ in boxed.value.handle(index) })
            case .port(let order, watchesDescriptor: true):
                let descriptor = EventPort(carriesData: item.carriesData)
                descriptors[index] = descriptor
                items.append(
                    ThreadRunLoop.Port(watching: descriptor.number, order: order) { _, _ in
                        if !descriptor.take() { boxed.value.handleInVain(index) }
                        boxed.value.handle(index)
                    })
            case .timer(_, let interval):
                if program.isTimeout(index) {
                    timeouts[index] = TimeoutItem(at: date(player.firstDate(of: index))) {
                        boxed.value.fire(index)
                    }
                }
                items.append(
                    ThreadRunLoop.Timer(
                        at: date(player.firstDate(of: index)), every: player.duration(of: interval)
                    ) { _ in boxed.value.fire(index) })
            }
        }
    }

    private func date(_ date: TimerDate) -> Instant {
        switch date {
        case .now: loop.now
        case .at(let date): date
        case .never: loop.now.advanced(by: rareInterval)
        }
    }

    func add(_ item: Int, to mode: ModeName) {
        if let timeout = timeouts[item] { return timeout.add(to: mode) }
        switch items[item] {
        case let source as ThreadRunLoop.Source: loop.add(source, to: mode.ours)
        case let observer as ThreadRunLoop.Observer: loop.add(observer, to: mode.ours)
        case let timer as ThreadRunLoop.Timer: loop.add(timer, to: mode.ours)
        case let port as ThreadRunLoop.Port:
            do {
                try loop.add(port, to: mode.ours)
            } catch {
                preconditionFailure("a mode can't watch an event descriptor: \(error)")
            }
        default: break
        }
    }

    func remove(_ item: Int, from mode: ModeName) {
        if let timeout = timeouts[item] { return timeout.remove(from: mode) }
        loop.remove(items[item], from: mode.ours)
    }

    func invalidate(_ item: Int) {
        if let timeout = timeouts[item] { timeout.invalidate() } else { items[item].invalidate() }
    }

    func change(_ change: Change) {
        // Adding and removing wakes the loop; making invalid does, if the item is in it.
        switch change {
        case .add(let item, let mode): add(item, to: mode)
        case .remove(let item, let mode): remove(item, from: mode)
        case .invalidate(let item):
            let isIn = items[item].loop != nil && items[item].isValid
            invalidate(item)
            if !isIn { wakeUp() }
        case .makeCommon(let mode): addCommonMode(mode)
        }
    }

    /// A run in a mode that is empty ends before its first pass, and looks at requests before.
    func takeChanges() { _ = loop.run(mode: "nothing", until: .distantPast) }

    func signal(_ item: Int) {
        switch items[item] {
        case let source as ThreadRunLoop.Source: source.signal()
        case let port as ThreadRunLoop.Port:
            if let descriptor = descriptors[item] { descriptor.signal() } else { port.signal() }
        default: break
        }
    }

    func setDate(_ item: Int, _ date: TimerDate) {
        if let timeout = timeouts[item] { return timeout.setDate(self.date(date)) }
        (items[item] as? ThreadRunLoop.Timer)?.fireDate = self.date(date)
    }

    var isWaiting: Bool { loop.isWaiting }

    func wakeUp() { loop.wakeUp() }

    func stop() { loop.stop() }

    func enqueue(inModes modes: [ModeName], _ body: @escaping () -> Void) {
        let body = Carried(value: body)
        _ = loop.enqueue(inModes: modes.map(\.ours)) { body.value() }
    }

    func perform(inModes modes: [ModeName], _ body: @escaping () -> Void) {
        let body = Carried(value: body)
        loop.perform(inModes: modes.map(\.ours)) { body.value() }
    }

    func addCommonMode(_ mode: ModeName) { loop.addCommonMode(mode.ours) }

    func run(_ mode: ModeName, for duration: Duration, returnsAfterSource: Bool)
        -> ThreadRunLoop.RunResult
    {
        guard duration >= .zero else {
            return loop.run(
                mode: mode.ours, until: loop.now.advanced(by: duration),
                returnAfterSourceHandled: returnsAfterSource)
        }
        return loop.run(
            mode: mode.ours, for: duration, returnAfterSourceHandled: returnsAfterSource)
    }

    func contains(_ item: Int, in mode: ModeName) -> Bool {
        timeouts[item]?.isIn(mode) ?? loop.contains(items[item], in: mode.ours)
    }

    func isValid(_ item: Int) -> Bool { timeouts[item]?.isValid ?? items[item].isValid }

    func fireDate(of timer: Int) -> Instant {
        timeouts[timer]?.date ?? (items[timer] as? ThreadRunLoop.Timer)?.fireDate ?? .distantFuture
    }

    func nextFireDate(in mode: ModeName) -> Instant? { loop.nextTimerFireDate(in: mode.ours) }

    var currentMode: ModeName? { loop.currentMode.flatMap { ModeName(rawValue: $0.name) } }

    func watch(_ mode: ModeName) {
        let player = player
        let observers = [
            ThreadRunLoop.Observer(order: .min) { player.value.isTold($1, in: mode) },
            ThreadRunLoop.Observer(.beforeWaiting, order: .max) { _, _ in
                player.value.aboutToSleep()
            },
        ]
        guards += observers
        for observer in observers { loop.add(observer, to: mode.ours) }
    }

    func close() {
        for item in items + guards { item.invalidate() }
        for timeout in timeouts.values { timeout.invalidate() }
        timeouts.removeAll()
        items.removeAll()
        descriptors.removeAll()
        guards.removeAll()
    }
}

extension ModeName {
    var ours: ThreadRunLoop.Mode { ThreadRunLoop.Mode(rawValue) }
}
