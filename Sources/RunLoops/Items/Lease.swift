// A place in a loop that ends with the scope that holds it.

extension ThreadRunLoop {
    /// Keeps a timer or an observer in a loop for as long as the lease lives.
    ///
    /// The compiler sees to it that there is one lease, which ends once: at the end of its scope,
    /// with the object that holds it, or by `end()`.
    ///
    /// ```swift
    /// do {
    ///     let ticking = loop.lease(ThreadRunLoop.Timer(after: .zero) { _ in print("tick") })
    ///     _ = loop.run(until: .distantPast)
    ///     ticking.end()
    /// }
    /// ```
    public struct Lease: ~Copyable, Sendable {
        private var item: Item?

        init(_ item: Item) { self.item = item }

        deinit { item?.invalidate() }

        /// Takes the item out of its modes for good.
        ///
        /// - Thread: any thread; on the loop's own thread the item is not called any more.
        /// - Blocks: never.
        public consuming func end() {}

        /// Gives up the lease and leaves the item where it is.
        ///
        /// - Thread: any thread.
        public consuming func keepItem() { item = nil }
    }

    /// Adds a timer to a mode for as long as the lease lives.
    ///
    /// - Thread: any thread.
    /// - Blocks: never.
    public func lease(_ timer: Timer, in mode: Mode = .default) -> Lease {
        add(timer, to: mode)
        return Lease(timer)
    }

    /// Adds an observer to a mode for as long as the lease lives.
    ///
    /// - Thread: any thread.
    /// - Blocks: never.
    public func lease(_ observer: Observer, in mode: Mode = .default) -> Lease {
        add(observer, to: mode)
        return Lease(observer)
    }
}
