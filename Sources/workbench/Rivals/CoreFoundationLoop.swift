// The rival with the semantics of our loop: CoreFoundation's run loop on a thread of its own.

internal import CoreFoundation
internal import Dispatch
internal import Synchronization

/// `CFRunLoopPerformBlock` with the `CFRunLoopWakeUp` that it lacks; `CFRunLoopTimer`.
final class CoreFoundationLoop: TimerLoop, @unchecked Sendable {
    // SAFETY: `core` and `thread` are set once, before `ready` is signalled, and read after it.
    // CFRunLoopPerformBlock, CFRunLoopWakeUp and CFRunLoopStop may be called on any thread.
    private(set) var core: CFRunLoop?
    private var thread: RivalThread?

    init() throws {
        let ready = DispatchSemaphore(value: 0)
        thread = try RivalThread("cfrunloop") { [self] in
            let loop = CFRunLoopGetCurrent()
            core = loop
            // Without an item in its mode a run would return at once.
            var context = unsafe CFRunLoopSourceContext()
            let keeper = unsafe CFRunLoopSourceCreate(kCFAllocatorSystemDefault, 0, &context)
            CFRunLoopAddSource(loop, keeper, kCFRunLoopDefaultMode)
            ready.signal()
            CFRunLoopRun()
            CFRunLoopSourceInvalidate(keeper)
        }
        ready.wait()
    }

    func post(_ body: @escaping @Sendable () -> Void) {
        guard let core else { fatalError("the loop's thread has not started") }
        CFRunLoopPerformBlock(core, kCFRunLoopDefaultMode, body)
        CFRunLoopWakeUp(core)
    }

    func stop() {
        post { CFRunLoopStop(CFRunLoopGetCurrent()) }
        thread?.join()
    }

    func makeTimers(_ board: TimerBoard) -> Timers { Timers(board) }

    final class Timers: LoopTimers {
        private let board: TimerBoard
        private let loop: CFRunLoop = CFRunLoopGetCurrent()
        // SAFETY: the run-time check of overlapping accesses is off, because the clock would see
        // it.
        @exclusivity(unchecked) private var timers: [CFRunLoopTimer] = []
        /// The seconds from the monotonic clock to CoreFoundation's.
        private let offset: Double

        init(_ board: TimerBoard) {
            self.board = board
            unsafe timers.reserveCapacity(board.deadlines.count)
            offset = CFAbsoluteTimeGetCurrent() - Double(nanoseconds()) / 1e9
        }

        func schedule(_ index: Int, at deadline: Int64) {
            // Its date is a double, exact to a tenth of a microsecond: rounded up, so that it is
            // not early.
            let date = offset + Double(deadline + 1_000) / 1e9
            guard
                let timer = CFRunLoopTimerCreateWithHandler(
                    kCFAllocatorSystemDefault, date, 0, 0, 0,
                    { [board] _ in board.fired(index) })
            else { fatalError("no timer") }
            CFRunLoopAddTimer(loop, timer, kCFRunLoopDefaultMode)
            unsafe timers.append(timer)
        }

        func cancel(_ index: Int) { unsafe CFRunLoopTimerInvalidate(timers[index]) }
    }
}

/// Apple's guide by hand, "Defining a Custom Input Source": a lock around an array, and a source.
final class CoreFoundationCommandLoop: CommandLoop, @unchecked Sendable {
    // SAFETY: `source` is set once, before anything is sent. CFRunLoopSourceSignal and
    // CFRunLoopWakeUp may be called on any thread; `batch` is touched on the loop's thread only.
    private let base: CoreFoundationLoop
    private let commands = Mutex<[LoopCommand]>([])
    private var batch: [LoopCommand] = []
    private var source: CFRunLoopSource?

    init() throws {
        base = try CoreFoundationLoop()
        var context = unsafe CFRunLoopSourceContext()
        unsafe context.info = Unmanaged.passUnretained(self).toOpaque()
        unsafe context.perform = { info in
            guard let info = unsafe info else { return }
            unsafe Unmanaged<CoreFoundationCommandLoop>.fromOpaque(info).takeUnretainedValue()
                .drain()
        }
        source = unsafe CFRunLoopSourceCreate(kCFAllocatorSystemDefault, 0, &context)
        CFRunLoopAddSource(base.core, source, kCFRunLoopDefaultMode)
    }

    private func drain() {
        commands.withLock { swap(&batch, &$0) }
        for command in batch { command.perform() }
        batch.removeAll(keepingCapacity: true)
    }

    func send(_ command: LoopCommand) {
        commands.withLock { $0.append(command) }
        CFRunLoopSourceSignal(source)
        CFRunLoopWakeUp(base.core)
    }

    func stop() {
        CFRunLoopSourceInvalidate(source)
        base.stop()
    }
}
