// A reference that any thread may set, once. The standard library's AtomicLazyReference does the
// same, but out of line and without knowing its type, which makes each load dear; the figures are
// in Documents/Performance.md.
//
// SetOnce.E1 publish
//    storeIfNil: compareExchange ─▶ load, isSet: word.load
//    release ─▶ acquire: carries everything that was done to the object before it was stored.
// Without SetOnce.E1 a reader sees a half-made object.

public import Synchronization

/// A place for an object: empty until one thread stores one, and then the same for ever.
@usableFromInline
package struct SetOnce<Object: AnyObject>: ~Copyable {
    /// The object's address, which counts as a reference to it; 0 for none.
    @usableFromInline let word = Atomic<UInt>(0)

    /// Makes an empty place.
    @inlinable
    package init() {}

    @inlinable
    deinit {
        unsafe reference(to: word.load(ordering: .acquiring))?.release()
    }

    /// Whether there is an object: one load, of nothing but the place itself.
    ///
    /// - Thread: any.
    @inlinable
    package var isSet: Bool { word.load(ordering: .acquiring) != 0 }

    /// The object; nil while there is none.
    ///
    /// - Thread: any.
    @inlinable
    package borrowing func load() -> Object? {
        unsafe reference(to: word.load(ordering: .acquiring))?.takeUnretainedValue()
    }

    /// Stores an object, unless there is one.
    ///
    /// - Returns: the object that is there now.
    /// - Thread: any.
    @inlinable
    package borrowing func storeIfNil(_ object: Object) -> Object {
        let mine = unsafe Unmanaged.passRetained(object)
        let stored = word.compareExchange(
            expected: 0, desired: UInt(bitPattern: unsafe mine.toOpaque()),
            ordering: .acquiringAndReleasing
        ).exchanged
        if stored { return object }
        unsafe mine.release()
        return load() ?? object
    }

    @inlinable
    borrowing func reference(to address: UInt) -> Unmanaged<Object>? {
        // SAFETY: a word other than 0 is the address of an object of which the place holds a
        // reference.
        guard let object = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
        return unsafe Unmanaged.fromOpaque(object)
    }
}

// SAFETY: the word is atomic, and the object behind it is safe from any thread.
extension SetOnce: @unchecked Sendable where Object: Sendable {}
