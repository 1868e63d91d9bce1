// A value that lives and dies on one loop's thread, wherever the box is let go of. The loop owns
// it, by an observer that is told nothing: so it goes when the observer becomes invalid, which
// always happens on that thread, be it that the thread ends.

/// A value that is made, used and let go of on one loop's thread.
///
/// The box may be captured and let go of anywhere. What is in it is opened on the loop's own thread
/// only, as `Confined`'s value is, and its `deinit` runs there too: soon after the last reference
/// to the box is gone, and at the latest when the thread ends. That is what a handle wants that has
/// to be closed where it was opened. When the thread ends these values go last of all that is in
/// the loop, the one that was boxed last first: what goes before may use them as it goes.
///
/// ```swift
/// let database = try worker.submitAndWait { ThreadBound(Database(path: path), to: .current) }
/// try worker.post { database.value.insert("a row") }
/// ```
public final class ThreadBound<Value>: @unchecked Sendable {
    // SAFETY: `place` is reached through `value` only, which asserts the thread; the owner, which
    // holds it, lets go of it there.
    private let loop: ThreadRunLoop
    private let owner: ThreadRunLoop.Observer
    private unowned let place: Place

    private final class Place: @unchecked Sendable {
        // SAFETY: touched on the loop's thread only.
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    /// Boxes a value of the calling thread's loop, which owns it from now on.
    ///
    /// - Thread: the loop's own thread.
    public init(_ value: Value, to loop: ThreadRunLoop) {
        loop.preconditionOnLoop("a ThreadBound of the loop")
        let place = Place(value)
        self.place = place
        self.loop = loop
        owner = ThreadRunLoop.Observer([]) { _, _ in _ = place }
        loop.add(owner)
    }

    deinit { owner.invalidate() }

    /// The value.
    ///
    /// It is for this thread: the compiler does not see a reference being handed on to another
    /// one.
    ///
    /// - Thread: the loop's own thread (traps elsewhere).
    public var value: Value {
        loop.preconditionOnLoop("the value of a ThreadBound")
        return place.value
    }
}
