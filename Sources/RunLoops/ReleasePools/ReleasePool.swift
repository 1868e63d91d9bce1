// Objects that are to live a little longer: until the pass, or the scope, that they were handed out
// in has ended. What users see; what a thread keeps is in ThreadPools.swift.

/// Keeps objects alive until the end of the current pass of the thread's run loop.
///
/// Swift needs no such thing for its own references. It is for what hands out something borrowed:
/// an unsafe pointer into an object, a handle of a C library, a reply that a callee reads until it
/// returns to the loop. Autoreleased, the object outlives every callout of the pass, and is
/// released before the thread sleeps.
///
/// ```swift
/// let page = ReleasePool.autorelease(Page("1"))  // gone when this pass is over
/// ReleasePool.with {  // or earlier: when the scope is over
///     for name in ["2", "3"] { ReleasePool.autorelease(Page(name)) }
/// }
/// ```
///
/// Every thread has it and nothing turns it on: the first object makes the thread's pool, and puts
/// its two observers into the loop. A thread that never uses it pays nothing.
///
/// An object goes into the innermost pool: that of the innermost `with`, or of the innermost run. A
/// run's pool is emptied before the loop sleeps, after all other observers were told so, and when
/// the run ends. A loop too busy to sleep empties it at the start of a pass, once it has filled a
/// page. Outside of runs and of `with`, objects are kept until the thread ends: a thread that does
/// not live in a run loop, one of Swift's tasks among them, uses `with`.
///
/// - Source: NSAutoreleasePool; the two observers are those of Cocoa's main thread.
public enum ReleasePool {
    /// Keeps an object alive until the innermost pool of the calling thread is emptied.
    ///
    /// - Parameter object: released on this thread; the same one may be given several times.
    /// - Returns: the object.
    /// - Thread: any thread; the pool is the caller's own.
    /// - Complexity: O(1); no allocation but a page of 4096 bytes for every 511 objects.
    @discardableResult
    public static func autorelease<Object: AnyObject>(_ object: Object) -> Object {
        ThreadPools.current.add(object)
        return object
    }

    /// Does something with a pool of its own, which is emptied when it returns or throws.
    ///
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws.
    /// - Thread: any thread.
    public static func with<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let pools = ThreadPools.current
        let pool = pools.open()
        defer { pools.close(pool) }
        return try body()
    }

    /// How many objects the calling thread keeps alive, in all its pools.
    package static var heldCount: Int { ThreadPools.current.heldCount }

    /// How many pages of 4096 bytes the calling thread's pools have, an empty one among them.
    package static var pageCount: Int { ThreadPools.current.pageCount }
}
