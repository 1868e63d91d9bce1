// A reference that any thread may set, once. The standard library's AtomicLazyReference does the
// same, but out of line and without knowing its type: some 600 instructions for each load.
//
// Edge: storeIfNil: compareExchange, releasing what was done to the object ─▶ load: acquires it.

public import Synchronization

/// A place for an object, empty until somebody puts one in, and then the same for ever.
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

    /// Whether there is an object: one look, at nothing but the place itself.
    ///
    /// - Thread: any.
    @inlinable
    package var isSet: Bool { word.load(ordering: .acquiring) != 0 }

    /// The object; nil as long as there is none.
    ///
    /// - Thread: any.
    @inlinable
    package borrowing func load() -> Object? {
        unsafe reference(to: word.load(ordering: .acquiring))?.takeUnretainedValue()
    }

    /// Puts an object in, unless there is one.
    ///
    /// - Returns: the one that is there now.
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
        // SAFETY: a word other than 0 is the address of an object to which the place has a reference.
        guard let object = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
        return unsafe Unmanaged.fromOpaque(object)
    }
}

// SAFETY: the word is atomic, and the object it leads to is safe from any thread.
extension SetOnce: @unchecked Sendable where Object: Sendable {}
