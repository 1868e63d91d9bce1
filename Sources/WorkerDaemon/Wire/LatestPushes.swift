// Pushes that wait for a client that reads slowly: of each subject only the latest. Pure.

package import RESP
internal import Structures

/// Pushes that wait until the client has read the bytes in flight.
package struct LatestPushes {
    private var latest: [UInt64: RESPValue] = [:]
    /// Each subject once, in the order in which they first came.
    private var subjects = FIFO<UInt64>()

    package init() {}

    package var count: Int { latest.count }
    package var isEmpty: Bool { latest.isEmpty }

    /// Keeps a push in place of an earlier one about the same subject.
    package mutating func put(_ push: RESPValue, about subject: UInt64) {
        if latest.updateValue(push, forKey: subject) == nil { subjects.append(subject) }
    }

    /// Takes out the next one.
    package mutating func popFirst() -> RESPValue? {
        subjects.popFirst().flatMap { latest.removeValue(forKey: $0) }
    }

    /// How many of them are about subjects that count.
    package func count(where counts: (UInt64) -> Bool) -> Int { latest.keys.count(where: counts) }

    /// Drops the pushes about these subjects.
    package mutating func remove(about others: Set<UInt64>) {
        guard !latest.isEmpty else { return }
        var kept = FIFO<UInt64>()
        while let subject = subjects.popFirst() {
            if others.contains(subject) { latest[subject] = nil } else { kept.append(subject) }
        }
        subjects = kept
    }

    package mutating func removeAll() { self = LatestPushes() }
}
