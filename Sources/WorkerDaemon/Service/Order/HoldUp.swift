// An order of jobs that is held up: who holds it up, who waits behind, and who is still on the way back
// from the worker. As long as somebody is, nothing may be let go: it would come before them.

package import Jobs

/// What waits behind a job that is tried again.
///
/// Confined to the desk's thread.
package final class HoldUp<Held> {
    package let gate: OrderGate
    /// The job that the others wait for.
    package let blocker: JobID
    private var held: [JobID: Held] = [:]
    private var onTheirWay: Set<JobID> = []
    /// Whether that one has ended.
    package private(set) var isOver = false

    package init(_ gate: OrderGate, by blocker: JobID) {
        self.gate = gate
        self.blocker = blocker
    }

    /// How many wait at the desk.
    package var count: Int { held.count }

    /// Whether all that was held may be let go.
    package var mayLetGo: Bool { isOver && onTheirWay.isEmpty }

    /// A job waits at the desk.
    package func hold(_ job: Held, _ id: JobID) {
        onTheirWay.remove(id)
        held[id] = job
    }

    /// A worker has taken a job, and will give it back: the gate is closed.
    package func expect(_ id: JobID) { onTheirWay.insert(id) }

    /// A job was given back, whatever became of it meanwhile.
    package func noteReturn(of id: JobID) { onTheirWay.remove(id) }

    /// A job does not wait any more: it was cancelled.
    ///
    /// - Returns: whether it did.
    @discardableResult
    package func forget(_ id: JobID) -> Bool { held.removeValue(forKey: id) != nil }

    /// The job that the others wait for has ended.
    package func end() { isOver = true }

    /// Takes out what was held, in the order of their numbers.
    package func takeAll() -> [Held] {
        defer { held.removeAll() }
        return held.sorted { $0.key < $1.key }.map(\.value)
    }
}
