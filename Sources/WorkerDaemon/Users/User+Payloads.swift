// The right `payloads`: the one place that decides which parts of a job's description a user
// without it sees. A field that is not named here needs the right, so that a new one can't leak.

internal import RESP

extension User {
    /// The fields of a job that tell nothing of what is in it.
    private static let plainFields: Set<String> = [
        "id", "thread", "selector", "state", "priority", "attempt", "accepted-at", "due-at",
        "started-at", "ended-at", "expires-at", "worker", "payload-bytes", "held-by", "held-until",
        "waits-for",
        // Of groups of jobs.
        "count", "up-to", "first", "last", "newest",
    ]
    /// The fields that every description of their kind has: they are null without the right.
    private static let steadyFields: Set<String> = [
        "failure", "progress", "progress-text", "reason",
    ]

    /// The description of a job, of a change of one or of a group, as the user may see it.
    ///
    /// Everything that shows jobs to clients goes through here: rows, descriptions, pushes. The
    /// description of several is a list.
    func shown(_ description: RESPValue) -> RESPValue {
        if seesPayloads { return description }
        if case .array(let all) = description { return .array(all.map(shown)) }
        guard case .map(let entries) = description else { return description }
        return .map(
            entries.compactMap { entry in
                let name = entry.key.text ?? ""
                if Self.plainFields.contains(name) { return entry }
                guard Self.steadyFields.contains(name) else { return nil }
                return RESPValue.Entry(entry.key, .null)
            })
    }
}
