// The mark that tells the store's own attempt log from that of another store: a random number that
// both have. Each opening draws a new one, so that the log of an older or a newer copy of the store
// has another.

/// The marks by which a store recognises its attempt log; 0 is that of files without one.
package struct AttemptMarks: Equatable, Sendable {
    /// The mark of the file whose attempts the store has yet to learn.
    package var present: UInt64 = 0
    /// The mark of the file whose attempts it has learnt already; nil if there is none.
    package var learnt: UInt64?

    /// The marks of a store.
    package init(present: UInt64 = 0, learnt: UInt64? = nil) {
        self.present = present
        self.learnt = learnt
    }

    /// The names of the settings in which stores keep them.
    package static let presentSetting = "attempts_mark"
    package static let learntSetting = "attempts_learnt"
}
