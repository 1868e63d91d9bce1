// An order of jobs that is held up: who holds it up, who waits behind, and who is still on the way back
// from the worker. As long as somebody is, nothing may be let go: it would come before them.

internal import Jobs

/// What waits behind a job that is tried again.
///
/// Confined to the desk's thread.
final class HoldUp<Held> {
    let gate: OrderGate
    /// The job that the others wait for.
    let blocker: JobID
    private var held: [JobID: Held] = [:]
    private var onTheirWay: Set<JobID> = []
    /// Whether that one has ended.
    private(set) var isOver = false

    init(_ gate: OrderGate, by blocker: JobID) {
        self.gate = gate
        self.blocker = blocker
    }

    /// How many wait at the desk.
    var count: Int { held.count }

    /// Whether all that was held may be let go.
    var mayLetGo: Bool { isOver && onTheirWay.isEmpty }

    /// A job waits at the desk.
    func hold(_ job: Held, _ id: JobID) {
        onTheirWay.remove(id)
        held[id] = job
    }

    /// A worker has taken a job, and will give it back: the gate is closed.
    func expect(_ id: JobID) { onTheirWay.insert(id) }

    /// A job was given back, whatever became of it meanwhile.
    func noteReturn(of id: JobID) { onTheirWay.remove(id) }

    /// A job does not wait any more: it was cancelled.
    func forget(_ id: JobID) { held[id] = nil }

    /// The job that the others wait for has ended.
    func end() { isOver = true }

    /// Takes out what was held, in the order of their numbers.
    func takeAll() -> [Held] {
        defer { held.removeAll() }
        return held.sorted { $0.key < $1.key }.map(\.value)
    }

    /// What is held, in no order.
    var all: [Held] { Array(held.values) }
}
