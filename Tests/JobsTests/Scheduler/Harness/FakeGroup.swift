// A group of threads as a test plays it: lists of attempts that wait and run.

import Jobs

/// The queue and the threads of a group.
final class FakeGroup {
    let name: String
    var memberNames: [String]
    var queue: [FakeAttempt] = []
    var running: [String: FakeAttempt] = [:]
    /// Members that have reported a failed attempt, and take nothing before the scheduler has heard
    /// it.
    var waiting: [String: FakeAttempt] = [:]
    var stopped: Set<String> = []
    var paused: Set<String> = []

    init(_ name: String, count: Int) {
        self.name = name
        memberNames = TestDriver.members(name, count)
    }

    func offer(_ attempt: FakeAttempt) {
        let place = queue.firstIndex {
            $0.job.details.priority.rawValue > attempt.job.details.priority.rawValue
        }
        queue.insert(attempt, at: place ?? queue.count)
    }

    /// An attempt waits again, before others of its priority.
    func putBack(_ attempt: FakeAttempt) {
        let place = queue.firstIndex {
            $0.job.details.priority.rawValue >= attempt.job.details.priority.rawValue
        }
        queue.insert(attempt, at: place ?? queue.count)
    }

    /// The next attempt for a member: a key is bound to one member while it has work there.
    func next(for member: String) -> FakeAttempt? {
        guard running[member] == nil, waiting[member] == nil, !stopped.contains(member),
            !paused.contains(member)
        else {
            return nil
        }
        let bound = Set(
            memberNames.filter { $0 != member }
                .compactMap { (running[$0] ?? waiting[$0])?.key })
        let place = queue.firstIndex { attempt in
            (attempt.thread == name || attempt.thread == member)
                && attempt.key.map { !bound.contains($0) } != false
        }
        return place.map { queue.remove(at: $0) }
    }
}
