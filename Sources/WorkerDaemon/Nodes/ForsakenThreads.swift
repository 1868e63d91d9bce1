// The threads that no node has in its configuration. Their jobs stay in the tables, and no
// scheduler knows them. So they are counted there: when such a thread is found, and once a minute
// from then on.

internal import Jobs
internal import Kernel
internal import RunLoops

/// Threads that no node can run, and how many jobs wait for them.
///
/// Confined to its loop's thread.
final class ForsakenThreads {
    /// How long a count holds.
    private static let countPause = Duration.seconds(60)

    private let store: any JobStore
    private let loop: ThreadRunLoop
    /// Threads and pools.
    private var names: Set<String> = []
    /// The jobs that have not ended, at the latest count.
    private(set) var counts: [String: Int] = [:]
    private var nextCount = Instant.distantFuture

    init(in store: any JobStore, on loop: ThreadRunLoop) {
        self.store = store
        self.loop = loop
    }

    /// Takes the present threads.
    ///
    /// - Returns: the threads that were not among the ones before.
    func take(_ present: Set<String>) -> Set<String> {
        defer { names = present }
        let new = present.subtracting(names)
        counts = counts.filter { present.contains($0.key) }
        if !new.isEmpty { nextCount = loop.now }
        if present.isEmpty { nextCount = .distantFuture }
        return new
    }

    /// Counts their jobs, if the latest count is too old.
    func countInTime() {
        guard loop.now >= nextCount else { return }
        nextCount = loop.now.advanced(by: Self.countPause)
        let confined = Confined(self, to: loop)
        store.askForJobCounts(of: names.sorted()) { [loop] result in
            loop.perform {
                let forsaken = confined.value
                guard case .success(let counts) = result else { return }
                forsaken.counts = counts.filter { forsaken.names.contains($0.key) }
            }
        }
    }
}
