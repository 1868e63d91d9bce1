// A job of a random history, and what its client may rely on.

import Jobs

/// A job as its client knows it.
final class SimulatedJob {
    let id: JobID
    let request: JobRequest
    let acceptedAt: Int64
    /// When its turn came at the earliest and at the latest; nil if its client can't know that.
    let turnAt: ClosedRange<Int64>?
    let isStored: Bool
    var isCancelled = false
    var isExpired = false
    var isAskedToEnd = false
    /// Whether a client has asked to cancel it, answered or not.
    var isCancelAsked = false
    var hasEnded = false
    var begun = 0
    /// The life in which it was accepted.
    let life: Int
    /// Whether it has failed, and is tried again.
    var isBetweenAttempts = false
    var isRunAgainAsked = false
    /// Whether its thread or handler has gone, and it was in memory only.
    var mayBeDropped = false
    /// The number of its latest attempt.
    var lastNumber = 0
    /// The number of the attempt that a worker of an earlier life holds.
    var heldNumber: Int?
    /// Whether a worker held it when this life began: then it goes before all others.
    var wasInherited = false

    /// - Parameter acceptedAt: the moment that the scheduler gave it.
    init(
        _ id: JobID, _ request: JobRequest, acceptedAt: Int64?, at now: Int64, isStored: Bool,
        life: Int
    ) {
        self.id = id
        self.request = request
        self.acceptedAt = now
        let isKnown = life >= 0
        turnAt =
            switch request.schedule {
            case .at(let due, _) where isKnown: due...max(due, now)
            case .now where isKnown: (acceptedAt ?? now)...now
            case .now, .at, .buffered: nil
            }
        self.isStored = isStored
        self.life = life
    }

    var blocks: Bool { request.options.retryBlocks == true }
    var isUndelayed: Bool { request.schedule == .now }
    var isPlain: Bool { isUndelayed && request.options.isEmpty }
    /// Jobs of one order begin one after another.
    var order: String? {
        if let key = request.options.key { return "\(request.thread) key \(key)" }
        return request.thread == "two" ? nil : request.thread
    }
}
