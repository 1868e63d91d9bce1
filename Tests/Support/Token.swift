// Objects whose end a test watches.

/// An object whose release can be observed.
package final class Token: Sendable {
    package init() {}
}

/// A weak reference that any thread may read.
package final class WeakReference<Object: AnyObject & Sendable>: @unchecked Sendable {
    // SAFETY: weak references may be read from any thread; it is written only by `init`.
    package private(set) weak var object: Object?

    package init(_ object: Object) { self.object = object }
}
