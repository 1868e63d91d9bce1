// One object per thread, made on first use and let go when its thread ends.

internal import Glibc

/// A variable of which every thread has its own, holding an object.
///
/// - Source: pthread_key_create(3). A key's destructor runs on the ending thread.
package struct ThreadLocal<Value: AnyObject>: Sendable {
    private let key: pthread_key_t

    package init() {
        unsafe self.init(whenThreadEnds: { value in
            if let value = unsafe value { unsafe Unmanaged<AnyObject>.fromOpaque(value).release() }
        })
    }

    /// A variable whose object is told that its thread ends.
    ///
    /// - Parameter whenThreadEnds: called on the ending thread with the object's address and the
    ///   variable's reference to it, which it lets go of.
    @unsafe package init(
        whenThreadEnds: @convention(c) (UnsafeMutableRawPointer?) -> Void
    ) {
        var key = pthread_key_t()
        let result = unsafe pthread_key_create(&key, whenThreadEnds)
        require(result == 0, "no thread-specific key left (errno \(result))")
        self.key = key
    }

    /// The calling thread's object.
    package var current: Value? {
        guard let value = unsafe pthread_getspecific(key) else { return nil }
        return unsafe Unmanaged<Value>.fromOpaque(value).takeUnretainedValue()
    }

    /// Gives the calling thread its object; it is kept until the thread ends.
    package func set(_ value: Value) {
        require(current == nil, "this thread has its object already")
        let result = unsafe pthread_setspecific(key, Unmanaged.passRetained(value).toOpaque())
        require(result == 0, "pthread_setspecific failed with errno \(result)")
    }

    /// Lets the ending thread, which has lost its object, find it for as long as something takes.
    package func keep(_ value: Value, while body: () -> Void) {
        set(value)
        body()
        let result = pthread_setspecific(key, nil)
        require(result == 0, "pthread_setspecific failed with errno \(result)")
        unsafe Unmanaged.passUnretained(value).release()
    }
}
