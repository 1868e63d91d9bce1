// Objects whose end a test watches.

/// An object that can be watched going away.
package final class Token: Sendable {
    package init() {}
}

/// A weak reference that any thread may look at.
package final class WeakReference<Object: AnyObject & Sendable>: @unchecked Sendable {
    // SAFETY: weak references may be read from any thread; it is written only by `init`.
    package private(set) weak var object: Object?

    package init(_ object: Object) { self.object = object }
}
