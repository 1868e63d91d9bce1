// Threads and selectors that come, go and change, as a driver does it.

import Jobs

extension TestDriver {
    static func members(_ name: String, _ count: Int) -> [String] {
        count == 1 ? [name] : (1...count).map { "\(name)/\($0)" }
    }

    func group(_ name: String) -> FakeGroup {
        guard let group = groups.first(where: { $0.name == name }) else {
            preconditionFailure("there is no group \(name)")
        }
        return group
    }

    /// Whether a group of this name is served.
    func isServed(_ name: String) -> Bool { scheduler.knownGroup(of: name) != nil }

    /// Whether this is the name of a group or a member that is there.
    func isThread(_ name: String) -> Bool { scheduler.knownGroup(of: name) != nil }

    /// - Returns: the threads to be released and claimed.
    func serve(selectors names: [String]) -> [String] {
        let all = Dictionary(uniqueKeysWithValues: names.map { ($0, SharedJobOptions()) })
        return input { $0.serve(all) }
    }

    /// - Returns: the threads to be claimed.
    func serve(_ name: String, count: Int) -> [String] {
        let members = Self.members(name, count)
        group(name).memberNames = members
        return input {
            $0.serve(
                group: name, memberNames: members, maxQueued: 1_000_000,
                maxQueuedByteCount: 1 << 30
            ).names
        }
    }

    func remove(_ name: String, _ reply: ReplyToken) {
        input { $0.remove(group: name, reply) }
    }

    /// - Returns: the threads to be claimed.
    func resume(_ name: String, _ members: [String]) -> [String] {
        let group = group(name)
        group.memberNames = members
        group.paused = []
        group.waiting = [:]
        return input { $0.resume(group: name, memberNames: members) }
    }
}
