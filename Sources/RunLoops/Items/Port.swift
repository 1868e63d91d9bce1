// A port: an event that wakes the loop by itself. CFRunLoop's version 1: a descriptor that the
// kernel watches, or a signal from any thread (which message ports are made of).

public import Kernel
internal import Structures

extension ThreadRunLoop {
    /// A port: something that wakes the loop by itself and is handled in the same pass.
    ///
    /// Either it watches a descriptor for as long as it is in a mode, or it is signalled from any
    /// thread with `signal()`. Events of a port that is not in the current mode wait until a
    /// run in one of its modes.
    ///
    /// - Source: CFRunLoopSource, version 1; CFFileDescriptor; NSPort.
    public final class Port: SignalledItem, @unchecked Sendable {
        // SAFETY: `watched`, `handles`, `handler` and `lastTurn` confined as `Item` says.

        /// The closure called on the loop's thread, with the directions in which the port is ready.
        public typealias Handler = @Sendable (Port, Readiness) -> Void

        private struct Watched {
            let descriptor: CInt
            var interest: Readiness
        }

        private var watched: Watched?
        private var handles = ShortList<(state: ModeState, handle: DescriptorPorts.Handle)>()
        private var handler: Handler?
        /// Which of its loop's calls of ports was its last one after which a run came back; 0 for
        /// none.
        var lastTurn: UInt64 = 0

        /// A port that watches a descriptor which other code owns and keeps open meanwhile.
        ///
        /// Level-triggered: it is handled in each pass for as long as it is ready. That goes for
        /// `closed` too, which nothing ends but an empty `interest` or taking the port out of its
        /// modes: a handler that is told so and only returns keeps its thread busy.
        ///
        /// A pass looks for ready descriptors once. So let the descriptor be non-blocking, if
        /// anything else on the thread reads from it: the handler may be told of bytes that the
        /// other reader has taken already.
        ///
        /// Make the port invalid on the loop's thread, and close the descriptor after that. Where
        /// its open file has other descriptors still, those of a child process among them, the
        /// kernel goes on reporting one that was closed first, and it can't be told to stop any
        /// more. On another thread, `perform { port.invalidate(); close(descriptor) }` does both.
        ///
        /// - Parameters:
        ///   - descriptor: an open descriptor; one port for each descriptor and mode.
        ///   - interest: what it is watched for.
        ///   - order: smaller ones are handled first.
        ///   - handler: called on the loop's thread when the descriptor is ready.
        ///   - fileID: the caller's file, told of its calls while its loop is measured.
        ///   - line: the caller's line.
        public init(
            watching descriptor: CInt, for interest: Readiness = .readable, order: Int = 0,
            handler: @escaping Handler, fileID: StaticString = #fileID, line: UInt = #line
        ) {
            require(descriptor >= 0, "a descriptor is not negative, is \(descriptor)")
            watched = Watched(descriptor: descriptor, interest: interest)
            self.handler = handler
            super.init(order: order, madeAt: CodeLocation(fileID: fileID, line: line))
        }

        /// A port that is signalled from any thread; costs no descriptor.
        ///
        /// - Parameters:
        ///   - order: smaller ones are handled first.
        ///   - handler: called on the loop's thread after a signal, with an empty readiness.
        ///   - fileID: the caller's file, told of its calls while its loop is measured.
        ///   - line: the caller's line.
        public init(
            order: Int = 0, handler: @escaping Handler,
            fileID: StaticString = #fileID, line: UInt = #line
        ) {
            self.handler = handler
            super.init(order: order, madeAt: CodeLocation(fileID: fileID, line: line))
        }

        /// A port of an owner that is in the making: it can't be mentioned in a closure yet, and
        /// says later what handles the port.
        package init(order: Int, fileID: StaticString = #fileID, line: UInt = #line) {
            super.init(order: order, madeAt: CodeLocation(fileID: fileID, line: line))
        }

        /// Says what is called after a signal, before the port is put into a loop.
        ///
        /// The port keeps it, and an owner in it, until the port is invalid.
        package func whenSignalled(_ handle: @escaping Handler) { handler = handle }

        /// Makes the port ready and wakes its loop; several signals before the loop gets there
        /// are one.
        ///
        /// One that watches a descriptor is ready when that is: a signal only wakes its loop.
        ///
        /// - Thread: any thread.
        /// - Blocks: never; a system call only if the loop sleeps.
        public func signal() {
            setSignalled()
            wakeLoop()
        }

        /// The descriptor that it watches; nil for one that is signalled.
        var watchedDescriptor: CInt? { watched?.descriptor }

        /// The directions in which the descriptor is watched; empty keeps the port in its modes,
        /// silent but for `closed`, which is told once then.
        ///
        /// So a reader that wants no more for a while sets it to `[]`, and back when it goes on.
        ///
        /// - Thread: the loop's own thread once it is in a loop.
        public var interest: Readiness {
            get { watched?.interest ?? [] }
            set { changeInterest(newValue) }
        }

        /// Handles the port if it is signalled still.
        ///
        /// - Returns: whether it was.
        func handleIfSignalled() -> Bool {
            guard isSignalled, isValid, takeSignal() else { return false }
            return call([])
        }

        /// Handles what the poller reported, as far as the port is still interested.
        ///
        /// - Returns: whether it was.
        func handle(_ readiness: Readiness) -> Bool {
            // An earlier callout of the same pass may have changed what it is watched for.
            // A hang-up is what a reader's end of file is, and a writer's EPIPE.
            let told =
                readiness.contains(.closed) ? readiness.union([.readable, .writable]) : readiness
            let wanted = told.intersection(interest.union(.closed))
            guard !wanted.isEmpty, call(wanted) else { return false }
            // It may have been moved meanwhile, and be another thread's.
            if told.contains(.closed), loop?.isOnThread == true, interest.isEmpty { rest() }
            return true
        }

        /// Lets the loop sleep though the other side is gone: that was told, and nothing else is
        /// wanted.
        private func rest() {
            guard let watched else { return }
            for (state, handle) in handles {
                state.descriptors?.rest(handle, descriptor: watched.descriptor)
            }
        }

        private func call(_ readiness: Readiness) -> Bool {
            guard isValid, let handler else { return false }
            Callout.handlePort(self, readiness, handler)
            return true
        }

        override func enter(_ state: ModeState, of loop: ThreadRunLoop) throws(SystemError) {
            guard let watched else {
                state.signalledPorts.insertByOrder(self)
                // A signal sent before it was in a loop had no loop to wake.
                if isSignalled { loop.wakeUp() }
                return
            }
            let handle = try state.watch(
                self, descriptor: watched.descriptor, for: watched.interest, poller: loop.poller)
            handles.append((state, handle))
        }

        override func leave(_ state: ModeState) {
            guard let watched else { return state.signalledPorts.remove(self) }
            guard let entry = handles.removeFirst(where: { $0.state === state }) else { return }
            state.descriptors?.unwatch(entry.handle, descriptor: watched.descriptor)
        }

        override func letGo() {
            handler = nil
        }

        private func changeInterest(_ interest: Readiness) {
            guard let watched, watched.interest != interest else { return }
            self.watched?.interest = interest
            guard let loop else { return }
            loop.preconditionOnLoop("the interest of a port that is in a loop")
            for (state, handle) in handles {
                state.descriptors?.rewatch(
                    handle, descriptor: watched.descriptor, for: interest)
            }
        }
    }
}
