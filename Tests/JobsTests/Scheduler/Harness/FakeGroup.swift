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

    /// Takes out the next attempt for a member.
    func next(for member: String) -> FakeAttempt? {
        placeOfNext(for: member).map { queue.remove(at: $0) }
    }

    /// The next attempt for a member, which stays.
    func waitingFirst(for member: String) -> FakeAttempt? {
        placeOfNext(for: member).map { queue[$0] }
    }

    /// A key is bound to one member while it has work there.
    private func placeOfNext(for member: String) -> Int? {
        guard running[member] == nil, waiting[member] == nil, !stopped.contains(member),
            !paused.contains(member)
        else {
            return nil
        }
        let bound = Set(
            memberNames.filter { $0 != member }
                .compactMap { (running[$0] ?? waiting[$0])?.key })
        return queue.firstIndex { attempt in
            (attempt.thread == name || attempt.thread == member)
                && attempt.key.map { !bound.contains($0) } != false
        }
    }
}
