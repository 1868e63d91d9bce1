// Which threads of a shared database are this daemon's, and its range of numbers. Pure.

internal import Jobs

/// The threads, pools and slots whose jobs are this daemon's.
///
/// Changes of a transaction count once it is committed.
struct ThreadShare {
    /// The changes of the open transaction.
    private struct Changes {
        var taken: Set<String> = []
        var given: Set<String> = []
        var held: [HeldJob] = []
        var toldHolds: Set<String> = []
        var firstNumber: UInt64?
        var isNumberAnnounced = true
    }

    /// By the names of threads, pools and slots; a pool or its first slot has all its threads.
    private var names: Set<String> = []
    private var open = Changes()
    /// The one thread or pool that statements are about meanwhile; nil for all.
    var narrowed: String?
    /// The jobs of taken threads that workers may hold, until the thread of each is claimed.
    private var held: [HeldJob] = []
    /// The first number of the latest range.
    private(set) var firstNumber: UInt64 = 0
    /// The first number of a range of which the scheduler is not told yet.
    private var untoldNumber: UInt64?
    /// Whether the ended jobs in memory have to be read anew, as the threads have changed.
    var mustReadKept = false

    /// The numbers of a range.
    static let numberCount: UInt64 = 1_000_000_000

    /// Whether a thread is this daemon's, as the open transaction leaves it.
    func includes(_ thread: String) -> Bool { all.contains(ThreadGroup.name(of: thread)) }

    /// The names, as the open transaction leaves them.
    private var all: Set<String> { names.union(open.taken).subtracting(open.given) }

    /// The names that statements are about.
    var scope: [String] { narrowed.map { [$0] } ?? all.sorted() }

    mutating func take(_ name: String) { open.taken.insert(name) }

    mutating func give(_ name: String) { open.given.insert(name) }

    mutating func hold(_ jobs: [HeldJob]) { open.held += jobs }

    /// The jobs of a thread that workers may hold; they are told once.
    mutating func tellHeld(of thread: String) -> [HeldJob] {
        open.toldHolds.insert(thread)
        return (held + open.held).filter { $0.job.slot == thread }
    }

    /// The range that new jobs have numbers of, as the open transaction leaves it.
    var presentNumber: UInt64 { open.firstNumber ?? firstNumber }

    /// Gives jobs numbers from a new range.
    ///
    /// - Parameter isAnnounced: whether the scheduler is told by an answer of the transaction.
    mutating func take(numbersFrom first: UInt64, isAnnounced: Bool) {
        open.firstNumber = first
        open.isNumberAnnounced = isAnnounced
    }

    /// The first number of a range of which the scheduler was not told.
    mutating func takeUntoldNumber() -> UInt64? {
        defer { untoldNumber = nil }
        return untoldNumber
    }

    /// A transaction begins; the one before was committed or has changed nothing.
    mutating func begin() { open = Changes() }

    /// The open transaction was committed.
    ///
    /// - Returns: whether other threads are this daemon's now.
    mutating func commit() -> Bool {
        let isChanged = !open.taken.isSubset(of: names) || !open.given.isDisjoint(with: names)
        names = all
        held = (held + open.held).filter { !open.toldHolds.contains($0.job.slot) }
        if let first = open.firstNumber {
            firstNumber = first
            if !open.isNumberAnnounced { untoldNumber = first }
        }
        if isChanged { mustReadKept = true }
        begin()
        return isChanged
    }
}
