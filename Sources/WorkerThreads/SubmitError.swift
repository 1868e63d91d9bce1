// Why a thread did not take, or did not run, what was submitted to it.

/// Why work was refused.
public enum SubmitError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The thread has been stopped, or was before the work's turn came. It never runs.
    case stopped(thread: String)
    /// As much work waits as the thread was told to hold. Try again later.
    case full(thread: String, limit: Int)
    /// Newer work took its place in a full queue. It never runs.
    case dropped(thread: String)
    /// Its deadline passed before its turn came. It never runs.
    case late(thread: String)
    /// The pool has no thread of this name.
    case noThread(String)

    /// The reason and the remedy.
    public var description: String {
        switch self {
        case .stopped(let thread): "thread \(thread) has been stopped"
        case .full(let thread, let limit):
            "thread \(thread) holds \(limit) waiting items, its limit; try again later"
        case .dropped(let thread):
            "newer work took its place in the full queue of thread \(thread)"
        case .late(let thread): "its deadline passed before its turn on thread \(thread)"
        case .noThread(let name): "there is no thread \(name)"
        }
    }
}
