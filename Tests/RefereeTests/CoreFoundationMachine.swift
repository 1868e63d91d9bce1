// CoreFoundation's run loop as a machine: the referee.

import CoreFoundation
import Dispatch
import Foundation
import Kernel
import RunLoops

final class CoreFoundationMachine: Machine {
    /// The object that CoreFoundation hands back to a callout.
    private final class Info {
        unowned let player: Player
        let index: Int
        let mode: ModeName
        /// The event behind a port.
        let event: EventPort?

        init(
            player: Player, index: Int = 0, mode: ModeName = .common, event: EventPort? = nil
        ) {
            self.player = player
            self.index = index
            self.mode = mode
            self.event = event
        }
    }

    private enum Element {
        case source(CFRunLoopSource)
        case observer(CFRunLoopObserver)
        case timer(CFRunLoopTimer)
    }

    static var tellsOfWaitingWithReadyPort: Bool { true }

    private let loop: CFRunLoop = CFRunLoopGetCurrent()
    private let modes: [ModeName: CFRunLoopMode]
    private let player: Player
    private var infos: [Info] = []
    private var elements: [Element] = []
    private var guards: [CFRunLoopObserver] = []

    init(_ program: Program, player: Player) {
        self.player = player
        modes = [
            .standard: kCFRunLoopDefaultMode, .common: kCFRunLoopCommonModes,
            .a: Self.mode("A"), .b: Self.mode("B"),
            .c: Self.mode("C"),
        ]
        for (index, item) in program.items.enumerated() {
            let info = Info(
                player: player, index: index,
                event: item.isPort ? EventPort(carriesData: item.carriesData) : nil)
            infos.append(info)
            elements.append(Self.element(item.kind, info))
        }
    }

    private static func mode(_ name: String) -> CFRunLoopMode {
        CFStringCreateWithCString(kCFAllocatorSystemDefault, name, 0x0800_0100)
    }

    private static func date(_ date: TimerDate) -> CFAbsoluteTime {
        switch date {
        case .now: return CFAbsoluteTimeGetCurrent() - 1
        case .never: return CFAbsoluteTimeGetCurrent() + rareInterval / .seconds(1)
        case .at(let date):
            let ahead = SystemClock().now().duration(to: date)
            return CFAbsoluteTimeGetCurrent() + ahead / .seconds(1)
        }
    }

    /// Sets a timer's date, again if the thread was kept from running meanwhile.
    ///
    /// Our clock is read here, and CFRunLoop reads both of its own one after the other: what lies
    /// between two of these readings would move the date.
    private static func set(_ timer: CFRunLoopTimer, _ date: TimerDate) {
        for _ in 0..<100 {
            let start = SystemClock().now()
            CFRunLoopTimerSetNextFireDate(timer, Self.date(date))
            if start.duration(to: SystemClock().now()) < .microseconds(50) { return }
        }
    }

    private static func element(_ kind: Item.Kind, _ info: Info) -> Element {
        let pointer = Unmanaged.passUnretained(info).toOpaque()
        switch kind {
        case .source(let order): return .source(source(order, pointer))
        case .port(let order, _): return .source(port(order, pointer))
        case .observer(let activities, let repeats, let order):
            return .observer(
                observer(CFOptionFlags(activities.rawValue), repeats, order, pointer) {
                    _, activity, info in
                    guard let info else { return }
                    let it = Unmanaged<Info>.fromOpaque(info).takeUnretainedValue()
                    let told = ThreadRunLoop.Activity(rawValue: UInt8(activity.rawValue))
                    it.player.tell(it.index, told)
                })
        case .timer(_, let interval):
            var context = CFRunLoopTimerContext()
            context.info = pointer
            let first = info.player.firstDate(of: info.index)
            let timer: CFRunLoopTimer = CFRunLoopTimerCreate(
                kCFAllocatorSystemDefault, date(first),
                (info.player.duration(of: interval) ?? .zero) / .seconds(1), 0, 0,
                { _, info in
                    guard let info else { return }
                    let it = Unmanaged<Info>.fromOpaque(info).takeUnretainedValue()
                    it.player.fire(it.index)
                }, &context)
            set(timer, first)
            return .timer(timer)
        }
    }

    private static func source(_ order: Int, _ info: UnsafeMutableRawPointer) -> CFRunLoopSource {
        var context = CFRunLoopSourceContext()
        context.info = info
        context.schedule = { info, _, mode in
            guard let info, let mode else { return }
            let it = Unmanaged<Info>.fromOpaque(info).takeUnretainedValue()
            it.player.schedule(it.index, CoreFoundationMachine.modeName(mode).rawValue)
        }
        context.cancel = { info, _, mode in
            guard let info, let mode else { return }
            let it = Unmanaged<Info>.fromOpaque(info).takeUnretainedValue()
            it.player.cancel(it.index, CoreFoundationMachine.modeName(mode).rawValue)
        }
        context.perform = { info in
            guard let info else { return }
            let it = Unmanaged<Info>.fromOpaque(info).takeUnretainedValue()
            it.player.perform(it.index)
        }
        return CFRunLoopSourceCreate(kCFAllocatorSystemDefault, order, &context)
    }

    /// A source of version 1, whose port is an event descriptor on Linux.
    ///
    /// CFRunLoop reads the descriptor before it tells that it woke.
    private static func port(_ order: Int, _ info: UnsafeMutableRawPointer) -> CFRunLoopSource {
        var context = CFRunLoopSourceContext1()
        context.version = 1
        context.info = info
        context.getPort = { info in
            guard let info else { return -1 }
            return Unmanaged<Info>.fromOpaque(info).takeUnretainedValue().event?.number ?? -1
        }
        context.perform = { info in
            guard let info else { return }
            let it = Unmanaged<Info>.fromOpaque(info).takeUnretainedValue()
            it.player.handle(it.index)
        }
        return withUnsafeMutablePointer(to: &context) { context in
            context.withMemoryRebound(to: CFRunLoopSourceContext.self, capacity: 1) {
                CFRunLoopSourceCreate(kCFAllocatorSystemDefault, order, $0)
            }
        }
    }

    private static func observer(
        _ activities: CFOptionFlags, _ repeats: Bool, _ order: Int,
        _ info: UnsafeMutableRawPointer, _ callout: @escaping CFRunLoopObserverCallBack
    ) -> CFRunLoopObserver {
        var context = CFRunLoopObserverContext()
        context.info = info
        return CFRunLoopObserverCreate(
            kCFAllocatorSystemDefault, activities, repeats, order, callout, &context)
    }

    private static func modeName(_ mode: CFRunLoopMode) -> ModeName {
        for (name, its) in [(ModeName.a, "A"), (.b, "B"), (.c, "C")]
        where CFEqual(mode, Self.mode(its)) {
            return name
        }
        return .standard
    }

    private func ref(_ mode: ModeName) -> CFRunLoopMode {
        modes[mode, default: kCFRunLoopDefaultMode]
    }

    func add(_ item: Int, to mode: ModeName) {
        switch elements[item] {
        case .source(let source): CFRunLoopAddSource(loop, source, ref(mode))
        case .observer(let observer): CFRunLoopAddObserver(loop, observer, ref(mode))
        case .timer(let timer): CFRunLoopAddTimer(loop, timer, ref(mode))
        }
    }

    func remove(_ item: Int, from mode: ModeName) {
        switch elements[item] {
        case .source(let source): CFRunLoopRemoveSource(loop, source, ref(mode))
        case .observer(let observer): CFRunLoopRemoveObserver(loop, observer, ref(mode))
        case .timer(let timer): CFRunLoopRemoveTimer(loop, timer, ref(mode))
        }
    }

    func invalidate(_ item: Int) {
        switch elements[item] {
        case .source(let source): CFRunLoopSourceInvalidate(source)
        case .observer(let observer): CFRunLoopObserverInvalidate(observer)
        case .timer(let timer): CFRunLoopTimerInvalidate(timer)
        }
    }

    func change(_ change: Change) {
        switch change {
        case .add(let item, let mode): add(item, to: mode)
        case .remove(let item, let mode): remove(item, from: mode)
        case .invalidate(let item): invalidate(item)
        case .makeCommon(let mode): addCommonMode(mode)
        }
        wakeUp()
    }

    /// It has been done already, under a lock.
    func takeChanges() {}

    func signal(_ item: Int) {
        if let event = infos[item].event { return event.signal() }
        if case .source(let source) = elements[item] { CFRunLoopSourceSignal(source) }
    }

    func setDate(_ item: Int, _ date: TimerDate) {
        if case .timer(let timer) = elements[item] {
            Self.set(timer, date)
        }
    }

    var isWaiting: Bool { CFRunLoopIsWaiting(loop) }

    func wakeUp() { CFRunLoopWakeUp(loop) }

    func stop() { CFRunLoopStop(loop) }

    func enqueue(inModes modes: [ModeName], _ body: @escaping () -> Void) {
        var callbacks = kCFTypeArrayCallBacks
        let array = CFArrayCreateMutable(kCFAllocatorSystemDefault, 0, &callbacks)
        for mode in modes {
            CFArrayAppendValue(array, Unmanaged.passUnretained(ref(mode)).toOpaque())
        }
        CFRunLoopPerformBlock(loop, array, body)
    }

    func perform(inModes modes: [ModeName], _ body: @escaping () -> Void) {
        enqueue(inModes: modes, body)
        wakeUp()
    }

    func addCommonMode(_ mode: ModeName) { CFRunLoopAddCommonMode(loop, ref(mode)) }

    func run(_ mode: ModeName, for duration: Duration, returnsAfterSource: Bool)
        -> ThreadRunLoop.RunResult
    {
        let seconds = duration / .seconds(1)
        // Its one wake-up for the time limit may be taken by a nested run or ignored (see the rule
        // `limitOfOuterRun`): without another it would sleep for ever.
        let carried = Carried(value: loop)
        let late = DispatchWorkItem { CFRunLoopWakeUp(carried.value) }
        if duration > .zero {
            DispatchQueue.global().asyncAfter(deadline: .now() + seconds + 0.05, execute: late)
        }
        defer { late.cancel() }
        let result = CFRunLoopRunInMode(ref(mode), seconds, returnsAfterSource)
        return ThreadRunLoop.RunResult(rawValue: Int(result.rawValue)) ?? .finished
    }

    func contains(_ item: Int, in mode: ModeName) -> Bool {
        switch elements[item] {
        case .source(let source): CFRunLoopContainsSource(loop, source, ref(mode))
        case .observer(let observer): CFRunLoopContainsObserver(loop, observer, ref(mode))
        case .timer(let timer): CFRunLoopContainsTimer(loop, timer, ref(mode))
        }
    }

    func isValid(_ item: Int) -> Bool {
        switch elements[item] {
        case .source(let source): CFRunLoopSourceIsValid(source)
        case .observer(let observer): CFRunLoopObserverIsValid(observer)
        case .timer(let timer): CFRunLoopTimerIsValid(timer)
        }
    }

    func fireDate(of timer: Int) -> Instant {
        guard case .timer(let timer) = elements[timer] else { return .distantFuture }
        return Self.instant(CFRunLoopTimerGetNextFireDate(timer))
    }

    func nextFireDate(in mode: ModeName) -> Instant? {
        let date = CFRunLoopGetNextTimerFireDate(loop, ref(mode))
        return date == 0 ? nil : Self.instant(date)
    }

    /// A date by our clock, read again if the thread was kept from running between the two clocks.
    private static func instant(_ date: CFAbsoluteTime) -> Instant {
        var instant = Instant.distantFuture
        for _ in 0..<100 {
            let start = SystemClock().now()
            instant = start.advanced(by: .seconds(date - CFAbsoluteTimeGetCurrent()))
            if start.duration(to: SystemClock().now()) < .microseconds(50) { break }
        }
        return instant
    }

    var currentMode: ModeName? {
        CFRunLoopCopyCurrentMode(loop).map { Self.modeName($0) }
    }

    func watch(_ mode: ModeName) {
        let info = Info(player: player, mode: mode)
        infos.append(info)
        let pointer = Unmanaged.passUnretained(info).toOpaque()
        let all = CFOptionFlags(ThreadRunLoop.Activity.all.rawValue)
        let observers = [
            Self.observer(all, true, .min, pointer) { _, activity, info in
                guard let info else { return }
                let it = Unmanaged<Info>.fromOpaque(info).takeUnretainedValue()
                let told = ThreadRunLoop.Activity(rawValue: UInt8(activity.rawValue))
                it.player.isTold(told, in: it.mode)
            },
            Self.observer(CFRunLoopActivity.beforeWaiting.rawValue, true, .max, pointer) {
                _, _, info in
                guard let info else { return }
                Unmanaged<Info>.fromOpaque(info).takeUnretainedValue().player.aboutToSleep()
            },
        ]
        guards += observers
        for observer in observers { CFRunLoopAddObserver(loop, observer, ref(mode)) }
    }

    func close() {
        for item in elements.indices { invalidate(item) }
        for observer in guards { CFRunLoopObserverInvalidate(observer) }
    }
}
