// A custom source: work that any thread signals and the loop performs. CFRunLoop's version 0.

internal import Kernel

extension ThreadRunLoop {
    /// A custom source: its owner signals it, and the loop performs it in its next pass in one of
    /// the source's modes.
    ///
    /// Signalling does not wake the loop: signal as often as you like, then call `wakeUp()` once.
    /// However often it was signalled before the loop gets there, it performs once.
    ///
    /// - Source: CFRunLoopSource, version 0.
    public final class Source: SignalledItem, @unchecked Sendable {
        // SAFETY: `callouts` is confined as `Item` says.

        /// Tells that the source was put into, or taken out of, a mode of a loop.
        public typealias Registration = @Sendable (ThreadRunLoop, Mode) -> Void

        private struct Callouts {
            let schedule: Registration?
            let cancel: Registration?
            let perform: @Sendable () -> Void
        }

        private var callouts: Callouts?

        /// A source that is in no loop yet.
        ///
        /// - Parameters:
        ///   - order: smaller ones perform first.
        ///   - schedule: called on the loop's thread once for each mode that the source enters.
        ///   - cancel: called on the loop's thread once for each mode that it leaves.
        ///   - perform: called on the loop's thread after a signal.
        ///   - fileID: the caller's file, told of its performs while its loop is measured.
        ///   - line: the caller's line.
        public init(
            order: Int = 0, schedule: Registration? = nil, cancel: Registration? = nil,
            perform: @escaping @Sendable () -> Void,
            fileID: StaticString = #fileID, line: UInt = #line
        ) {
            callouts = Callouts(schedule: schedule, cancel: cancel, perform: perform)
            super.init(order: order, madeAt: CodeLocation(fileID: fileID, line: line))
        }

        /// A source of an owner that is in the making: it can't be mentioned in a closure yet, and
        /// says later what is performed.
        package init(order: Int, fileID: StaticString = #fileID, line: UInt = #line) {
            super.init(order: order, madeAt: CodeLocation(fileID: fileID, line: line))
        }

        /// Says what is performed, before the source is put into a loop.
        ///
        /// The source keeps it, and an owner in it, until the source is invalid.
        package func whenSignalled(_ perform: @escaping @Sendable () -> Void) {
            callouts = Callouts(schedule: nil, cancel: nil, perform: perform)
        }

        /// Asks for a perform, without waking the loop.
        ///
        /// - Thread: any thread.
        /// - Blocks: never; makes no system call.
        /// - Source: CFRunLoopSourceSignal.
        public func signal() {
            setSignalled()
        }

        /// Asks for a perform, and wakes the loop that it is in, if any.
        ///
        /// A source that is in no loop is performed by the one that it is put into. A callout
        /// that does that wakes the loop: the callout may be the last one before the loop sleeps.
        ///
        /// - Thread: any thread.
        /// - Blocks: never; a system call only if the loop sleeps.
        public func signalAndWake() {
            signal()
            wakeLoop()
        }

        /// The closure to perform, if it is signalled still; takes the signal.
        ///
        /// - Thread: the loop's own thread.
        func takeCall() -> (@Sendable () -> Void)? {
            guard isValid, let perform = callouts?.perform, takeSignal() else { return nil }
            return perform
        }

        override func enter(_ state: ModeState, of loop: ThreadRunLoop) throws(SystemError) {
            state.sources.insertByOrder(self)
            callouts?.schedule?(loop, state.mode)
        }

        override func leave(_ state: ModeState) {
            state.sources.remove(self)
        }

        override var whenLeft: Registration? { callouts?.cancel }

        override func letGo() {
            callouts = nil
        }
    }
}
