// The gates of all keys that have live jobs. Those of threads are with their lanes.

internal import Jobs

/// Finds the gate of a key.
///
/// Confined to the desk's thread. A gate lives as long as a job of its key does; what is left of the
/// others is swept away when their number has doubled.
struct OrderGates {
    private struct Scope: Hashable {
        let thread: String
        let key: [UInt8]
    }

    private struct Weak {
        weak var gate: OrderGate?
    }

    private var gates: [Scope: Weak] = [:]
    private var sweepCount = 64

    /// How many keys are known, some of which have no job any more.
    var count: Int { gates.count }

    /// The gate of a key, for jobs of one thread's name.
    mutating func gate(of key: [UInt8], thread: String) -> OrderGate {
        let scope = Scope(thread: thread, key: key)
        if let gate = gates[scope]?.gate { return gate }
        if gates.count >= sweepCount {
            gates = gates.filter { $0.value.gate != nil }
            sweepCount = max(64, gates.count * 2)
        }
        let gate = OrderGate()
        gates[scope] = Weak(gate: gate)
        return gate
    }
}
