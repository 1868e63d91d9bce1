// What can be posted to: a thread of ours, or what a rival has for that.

/// Something that runs closures one after another, away from the caller.
///
/// Each contender writes its own `post`, so that the closures are made as its users would make them.
protocol Poster: Sendable {
    init() throws
    /// Posts work that captures nothing: `Tally.shared.note(1)`.
    func postBare()
    /// Posts work that captures a reference and an integer.
    func post(_ tally: Tally, _ index: Int)
    /// Posts a closure.
    func post(_ body: @escaping @Sendable () -> Void)
    /// Lets the thread end.
    func stop()
}

extension Poster {
    @inline(__always)
    func postBare() { post { Tally.shared.note(1) } }

    @inline(__always)
    func post(_ tally: Tally, _ index: Int) { post { tally.note(index) } }
}
