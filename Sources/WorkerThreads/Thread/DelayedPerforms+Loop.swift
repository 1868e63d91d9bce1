// How a delayed perform gets into a loop, a worker's or any other, and out of it again.

internal import Kernel
internal import RunLoops
internal import Structures
internal import Synchronization

extension ThreadRunLoop {
    /// The performs that wait for their delay in this loop; nil before the first.
    var delayedPerforms: DelayedPerforms? { companion.load() as? DelayedPerforms }

    private var madeDelayedPerforms: DelayedPerforms {
        if let delayedPerforms { return delayedPerforms }
        let own = DelayedPerforms()
        let made = companion.storeIfNil(own)
        guard let performs = made as? DelayedPerforms else {
            fatalError("a loop keeps delayed performs, not \(made)")
        }
        if performs === own {
            // A worker has closed them before. Of one that has ended already, nothing is taken
            // either.
            let thread = threadName
            let isToEnd = endObservers.add(own) { [unowned own] in _ = own.close(thread: thread) }
            if !isToEnd { _ = own.close(thread: thread) }
        }
        return performs
    }

    /// Takes no more delayed performs, and forgets those that wait.
    ///
    /// Decided once: a perform that comes at the same moment is either refused or counted.
    ///
    /// - Parameter thread: the name of the loop's thread, for errors.
    /// - Returns: how many waited.
    /// - Thread: the loop's own thread, at its end.
    func closeDelayedPerforms(thread: String) -> Int {
        if delayedPerforms == nil { _ = companion.storeIfNil(DelayedPerforms.closed) }
        return delayedPerforms?.close(thread: thread) ?? 0
    }

    /// Performs a selector once a delay has passed.
    ///
    /// - Parameters:
    ///   - limit: how many may wait.
    ///   - thread: the name of the loop's thread, for errors.
    ///   - isStopped: whether nothing more is to be taken.
    /// - Throws: `full`, and `stopped` also when that became so meanwhile.
    func performLater<Target, Argument>(
        _ selector: Selector<Target, Argument>, on target: Target, with argument: Argument,
        after delay: Duration, modes: [Mode], thread: String, limit: Int, posted: Posted?,
        isStopped: () -> Bool
    ) throws(SubmitError) {
        guard !isStopped() else { throw .stopped(thread: thread) }
        guard !modes.isEmpty else { return }
        let performs = madeDelayedPerforms
        let call = DelayedPerforms.Call(
            selector: selector.name, argument: AnySendableHashable(argument))
        let id = try performs.reserve(target, call, thread: thread, limit: limit)
        let perform: @Sendable () -> Void = { [unowned performs] in
            guard performs.take(id) else { return }
            guard let posted else { return selector.body(target, argument) }
            ThreadRunLoop.current.callingMeasured(.perform, posted) {
                selector.body(target, argument)
            }
        }
        let timer = Timer(after: delay) { [unowned performs] _ in
            let loop = ThreadRunLoop.current
            // Another one that was due in the same pass has paused or stopped the thread, or what
            // that was postponed is yet to have its turn.
            if loop.postponesRequests || performs.hasPostponed {
                performs.postpone(perform, in: loop, modes: modes)
            } else {
                perform()
            }
        }
        // Cancelled in between: then it is never added.
        guard performs.setTimer(timer, of: id) else { return }
        for mode in modes { add(timer, to: mode) }
        // Performs that an ending loop refuses throw here; the loop counts the ones that it took.
        if isStopped() && performs.take(id) { throw .stopped(thread: thread) }
    }
}

extension DelayedPerforms {
    /// Whether a perform that is due was postponed, and has not had its turn since: performs that
    /// come due behind it wait as well.
    ///
    /// - Thread: the loop's own thread.
    var hasPostponed: Bool { postponedCount.load(ordering: .relaxed) > 0 }

    /// Carries a perform that is due out once its thread postpones nothing any more, behind the
    /// performs that were postponed before.
    ///
    /// - Thread: the loop's own thread.
    func postpone(
        _ perform: @escaping @Sendable () -> Void, in loop: ThreadRunLoop,
        modes: [ThreadRunLoop.Mode]
    ) {
        postponedCount.add(1, ordering: .relaxed)
        loop.performUnlessPostponed(inModes: modes) { [unowned self] in
            postponedCount.subtract(1, ordering: .relaxed)
            perform()
        }
    }
}
