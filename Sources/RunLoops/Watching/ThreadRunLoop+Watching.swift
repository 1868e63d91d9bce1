// Measuring a loop, switched on and off from any thread: what needs the clock read or a place noted
// costs nothing but one look at a flag while it is off.

package import Kernel
internal import Structures
internal import Synchronization

extension ThreadRunLoop {
    /// Whether the time of this loop's callouts and sleeps is measured, and the place
    /// where its work was posted is noted.
    ///
    /// Off at first. While it is on, each callout and each sleep reads the clock twice, and what is
    /// posted is allocated a note of where and when. What is posted while it is off carries none.
    ///
    /// - Thread: any thread.
    /// - Blocks: never.
    public var isMeasured: Bool {
        get { measures.load(ordering: .relaxed) }
        set { measuring.withLock { $0.setMeasured(newValue, self) } }
    }

    /// The figures measured so far; nil if nothing ever was.
    ///
    /// - Thread: any thread.
    /// - Blocks: never the loop.
    public var measurements: Measurements? { watch.load()?.measurements(isOn: isMeasured) }

    /// The callout that runs at this moment; nil if none does, or if the loop is not measured.
    ///
    /// - Thread: any thread; out of date as soon as it is known.
    /// - Blocks: never the loop.
    public var runningCallout: RunningCallout? {
        isMeasured ? watch.load()?.read().callout : nil
    }

    /// The measuring side, made on first use.
    package var madeWatch: LoopWatch { watch.load() ?? makeWatch() }

    private func makeWatch() -> LoopWatch {
        let watch = watch.storeIfNil(LoopWatch(clock: poller.clock, link: link))
        atomicMemoryFence(ordering: .sequentiallyConsistent)  // LoopWatch.E3
        // A loop that ends may not have found it: its thread is not to be asked, or its number's
        // next owner.
        if hasEnded { watch.close() }
        return watch
    }

    /// A note of where something is posted from; nil while the loop is not measured.
    ///
    /// - Parameter due: when it should begin; nil for at once.
    /// - Thread: any thread.
    package func note(
        _ fileID: StaticString, _ line: UInt, due: @autoclosure () -> Instant? = nil
    ) -> Posted? {
        guard isMeasured else { return nil }
        return Posted(fileID, line, at: due() ?? now)
    }

    /// Has a closure called with each change of `isMeasured`, and now if it is.
    ///
    /// It is let go of when the loop ends.
    ///
    /// - Thread: any thread; it is called on the thread that makes the change, under a lock.
    package func whenMeasured(_ tell: @escaping @Sendable (Bool) -> Void) {
        measuring.withLock { measuring in
            measuring.listeners.append(Measuring.Listener(tell: tell))
            if isMeasured { tell(true) }
        }
    }

    /// Calls something, measured if the loop is.
    ///
    /// - Thread: the loop's own thread.
    @inline(__always)
    func calling<Result>(
        _ kind: CalloutKind, _ posted: Posted? = nil, _ body: () -> Result
    ) -> Result {
        guard measures.load(ordering: .relaxed) else { return body() }
        return callingMeasured(kind, posted, body)
    }

    /// Calls an item that knows where it comes from, measured if the loop is.
    ///
    /// - Thread: the loop's own thread.
    @inline(__always)
    func calling<Result>(
        _ kind: CalloutKind, from location: @autoclosure () -> CodeLocation, _ body: () -> Result
    ) -> Result {
        guard measures.load(ordering: .relaxed) else { return body() }
        return callingMeasured(kind, from: location(), body)
    }

    /// Calls something of a thread's own, measured if the loop is.
    ///
    /// - Thread: the loop's own thread.
    package func callingMeasured<Result>(
        _ kind: CalloutKind, _ posted: Posted?, _ body: () -> Result
    ) -> Result {
        guard isMeasured else { return body() }
        if let posted { madeWatch.noteStart(of: posted) }
        return callingMeasured(kind, from: posted?.location, body)
    }

    /// Calls something that comes from a place, measured if the loop is.
    ///
    /// - Thread: the loop's own thread.
    func callingMeasured<Result>(
        _ kind: CalloutKind, from location: CodeLocation?, _ body: () -> Result
    ) -> Result {
        guard isMeasured else { return body() }
        let watch = madeWatch
        let outer = watch.begin(.init(state: kind.rawValue, location: location))
        defer { watch.end(outer) }
        return body()
    }

    /// Sleeps, measured if the loop is.
    func sleeping(_ sleep: () -> Bool) {
        counts.sleeps.increment()
        guard measures.load(ordering: .relaxed) else {
            if sleep() { counts.wakeUps.increment() }
            return
        }
        let watch = madeWatch
        let outer = watch.begin(.init(state: LoopWatch.Stretch.asleep))
        if sleep() { counts.wakeUps.increment() }
        watch.end(outer)
    }
}

/// Whether a loop is measured, and the closures to tell.
struct Measuring {
    // In a struct: a bare closure in a generic container costs an allocation more.
    struct Listener: Sendable {
        let tell: @Sendable (Bool) -> Void
    }

    var listeners = ShortList<Listener>()

    /// Under the lock, so that each closure learns the last change last.
    func setMeasured(_ isMeasured: Bool, _ loop: ThreadRunLoop) {
        guard loop.isMeasured != isMeasured else { return }
        if isMeasured { loop.madeWatch.restart() }
        loop.measures.store(isMeasured, ordering: .relaxed)
        for listener in listeners { listener.tell(isMeasured) }
        // From its next sleep on it is known what it does.
        loop.wakeUp()
    }

    /// The loop has ended: nothing that is posted to it is measured any more, and no closure is
    /// told.
    mutating func end(_ isMeasured: Bool) {
        if isMeasured { for listener in listeners { listener.tell(false) } }
        listeners.removeAll()
    }
}
