// A value that belongs to one loop's thread, made safe to mention elsewhere.

/// A value that may be touched on one loop's thread only, though it may be captured anywhere.
///
/// Callouts are `@Sendable`, because the loop may be another thread's. State that lives on the
/// loop's own thread travels into them in this box; opening it elsewhere traps. It is let go of
/// where the last copy of the box is: what has to end on its thread goes into a `ThreadBound`.
public struct Confined<Value>: @unchecked Sendable {
    // SAFETY: `stored` is reached only through `value`, which asserts the thread, and through the
    // initializer, which does too. The last reference may be let go of on any thread, so `Value`'s
    // deinit must not rely on the thread.
    private let stored: Value
    private let loop: ThreadRunLoop

    /// Boxes a value of the calling thread's loop.
    ///
    /// - Thread: the loop's own thread.
    public init(_ value: Value, to loop: ThreadRunLoop) {
        loop.preconditionOnLoop("a Confined of the loop")
        stored = value
        self.loop = loop
    }

    /// The value.
    ///
    /// It is for this thread: the compiler does not see a reference being handed on to another
    /// one.
    ///
    /// - Thread: the loop's own thread (traps elsewhere).
    public var value: Value {
        loop.preconditionOnLoop("the value of a Confined")
        return stored
    }
}
