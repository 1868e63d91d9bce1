// How the callouts of an object's own items reach it: they are made before it is, and must not keep
// it.

/// A way back to the object that has made it.
final class BackReference<Target: AnyObject & Sendable>: @unchecked Sendable {
    // SAFETY: set once, in the target's initializer, before anything can call what reads it; a weak
    // reference may be read on any thread.
    weak var target: Target?
}
