// The adapter for C libraries. Their users post a function, a context and a number, not a closure:
// so do we where the scenario has just that, which is cheaper than a closure (nothing is retained);
// other closures are put into a box.

#if RIVALS
    internal import CRivals

    /// The functions of one library.
    protocol NativeFunctions: Sendable {
        static func start() -> OpaquePointer?
        static func post(
            _ loop: OpaquePointer, _ function: rival_function, _ context: UnsafeMutableRawPointer?,
            _ index: Int64)
        static func stop(_ loop: OpaquePointer)
        static func schedule(
            _ loop: OpaquePointer, _ deadline: Int64, _ function: rival_function,
            _ context: UnsafeMutableRawPointer?, _ index: Int64
        ) -> OpaquePointer?
        static func cancel(_ loop: OpaquePointer, _ timer: OpaquePointer)
    }

    /// A library's loop on a thread of its own.
    @safe struct NativeLoop<Functions: NativeFunctions>: TimerLoop, CommandLoop, @unchecked Sendable
    {
        // SAFETY: `post` is safe from any thread, by the library or by its list's lock.
        private let loop: OpaquePointer

        init() throws {
            guard let loop = unsafe Functions.start() else { throw WorkbenchError("no loop") }
            unsafe self.loop = unsafe loop
        }

        @inline(__always)
        func postBare() {
            unsafe Functions.post(loop, { _, _ in WorkTally.shared.note(1) }, nil, 0)
        }

        @inline(__always)
        func post(_ tally: WorkTally, _ index: Int) {
            unsafe Functions.post(
                loop,
                { context, index in
                    guard let context = unsafe context else { return }
                    unsafe Unmanaged<WorkTally>.fromOpaque(context).takeUnretainedValue()
                        .note(Int(index))
                }, Unmanaged.passUnretained(tally).toOpaque(), Int64(index))
        }

        func post(_ body: @escaping @Sendable () -> Void) {
            unsafe Functions.post(
                loop,
                { context, _ in
                    guard let context = unsafe context else { return }
                    unsafe Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body()
                }, Unmanaged.passRetained(Box(body)).toOpaque(), 0)
        }

        @inline(__always)
        func send(_ command: LoopCommand) {
            unsafe Functions.post(
                loop, { _, index in LoopCommand(index: Int(index)).perform() }, nil,
                Int64(command.index))
        }

        func stop() { unsafe Functions.stop(loop) }

        func makeTimers(_ board: TimerBoard) -> NativeTimers<Functions> {
            unsafe NativeTimers(loop, board)
        }
    }

    private final class Box: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    @safe final class NativeTimers<Functions: NativeFunctions>: LoopTimers {
        private let loop: OpaquePointer
        private let board: TimerBoard
        // SAFETY: the run-time check of overlapping accesses is off, because the clock would see
        // it.
        @exclusivity(unchecked) private var timers: [OpaquePointer] = unsafe []

        init(_ loop: OpaquePointer, _ board: TimerBoard) {
            unsafe self.loop = unsafe loop
            self.board = board
            unsafe timers.reserveCapacity(board.deadlines.count)
        }

        func schedule(_ index: Int, at deadline: Int64) {
            guard
                let timer = unsafe Functions.schedule(
                    loop, deadline,
                    { context, index in
                        guard let context = unsafe context else { return }
                        unsafe Unmanaged<TimerBoard>.fromOpaque(context).takeUnretainedValue()
                            .fired(Int(index))
                    }, Unmanaged.passUnretained(board).toOpaque(), Int64(index))
            else { fatalError("no timer") }
            unsafe timers.append(timer)
        }

        func cancel(_ index: Int) { unsafe Functions.cancel(loop, timers[index]) }
    }
#endif
