// Threads that are paused and go on. With a journal that outlives the daemon: it is on the disk before it
// is answered, and a thread that was paused is so again before the first job of the next start.

internal import Jobs
internal import WorkerThreads

extension JobDesk {
    /// Pauses the threads of a name, or lets them go on: at once, whether the disk can be written or not.
    ///
    /// - Parameter body: told when that is on the disk, or that it could not get there yet.
    func steer(
        _ name: String, isPaused: Bool, _ body: @escaping (Result<Void, WireError>) -> Void
    ) throws(WireError) {
        let members = try members(addressedBy: name)
        if members.allSatisfy({ $0.thread.isStopped }) {
            throw WireError(.noThread, "thread \(name) has been stopped")
        }
        for member in members {
            if isPaused { member.thread.pause() } else { member.thread.resume() }
        }
        tell(.pause(members.map(\.thread.name), isPaused: isPaused))
        confirm((), body)
    }

    /// Forgets that the threads of a name were paused: they are stopped, and begin anew with the daemon.
    func forgetPause(of name: String) {
        guard let members = try? members(addressedBy: name) else { return }
        tell(.pause(members.map(\.thread.name), isPaused: false))
    }

    /// Pauses the threads that were paused before the restart; nothing has been handed to them yet.
    func pauseAgain(_ names: Set<String>) {
        for member in lanes.flatMap(\.members) where names.contains(member.thread.name) {
            member.thread.pause()
            log.notice("thread \(member.thread.name) is paused, as it was before the restart")
        }
    }

    private func members(addressedBy name: String) throws(WireError) -> [Lane.Member] {
        let lane = try lane(of: name)
        return lane.name == name ? lane.members : lane.member(named: name).map { [$0] } ?? []
    }
}
