// An observer: told what the loop is about to do, at the six points of a pass.

internal import Kernel
internal import Synchronization

extension ThreadRunLoop {
    /// An item that is told of the loop's next step.
    ///
    /// Observers keep no run alive. An observer is not told again while it is being told (by a
    /// nested run, say).
    ///
    /// - Source: CFRunLoopObserver.
    public final class Observer: Item, @unchecked Sendable {
        // SAFETY: `handler` is confined as `Item` says.

        /// The closure called on the loop's thread.
        public typealias Handler = @Sendable (Observer, Activity) -> Void

        public override var order: Int { place }
        private let place: Int
        /// The activities that it observes.
        public let activities: Activity
        /// Whether it is told again after the first time.
        public let repeats: Bool
        /// Where it was made, which is told of its calls while its loop is measured.
        let madeAt: CodeLocation
        private var handler: Handler?
        /// Cleared (releasing) by the thread that has told it; another's loop may have it by then,
        /// and finds it cleared (acquiring) before it tells it.
        private let isBeingTold = Atomic<Bool>(false)

        /// An observer that is in no loop yet.
        ///
        /// - Parameters:
        ///   - activities: what it wants to be told.
        ///   - repeats: false makes it invalid after the first time.
        ///   - order: smaller ones are told first.
        ///   - handler: called on the loop's thread.
        ///   - fileID: the caller's file, told of its calls while its loop is measured.
        ///   - line: the caller's line.
        public init(
            _ activities: Activity = .all, repeats: Bool = true, order: Int = 0,
            handler: @escaping Handler,
            fileID: StaticString = #fileID, line: UInt = #line
        ) {
            self.activities = activities
            self.repeats = repeats
            self.handler = handler
            place = order
            madeAt = CodeLocation(fileID: fileID, line: line)
            super.init()
        }

        /// Begins to tell it of what it is to be told: it is valid, and not being told right now.
        ///
        /// - Returns: what to call, which `tell` does; nil if nothing.
        func beginTelling() -> Handler? {
            guard isValid, !isBeingTold.load(ordering: .acquiring), let handler else { return nil }
            isBeingTold.store(true, ordering: .relaxed)
            return handler
        }

        /// Tells it of what it is to be told.
        func tell(_ activity: Activity, _ handler: Handler) {
            Callout.tellObserver(self, activity, handler)
            // Moved out of this call it is another thread's by now, which must not tell it once
            // more before it is invalid.
            if repeats { isBeingTold.store(false, ordering: .releasing) } else { invalidate() }
        }

        override var keepsModeAlive: Bool { false }

        override func enter(_ state: ModeState, of loop: ThreadRunLoop) throws(SystemError) {
            state.insert(self)
        }

        override func leave(_ state: ModeState) {
            state.remove(self)
        }

        override func letGo() {
            handler = nil
        }
    }
}
