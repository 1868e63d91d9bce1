// Threads that are paused and go on. With a journal that outlives the daemon: it is on the disk
// before it is answered, and a thread that was paused is so again before the first job of the next
// start.
//
// A pool that is paused as a whole is written down by its own name, so that it is one when it is
// configured with another number of threads. The names of its members stand beside it: one of them
// may go on alone.

internal import Jobs
internal import WorkerThreads

extension SchedulerDriver {
    /// Pauses the threads of a name, or lets them go on: at once, whether the disk can be written
    /// or not.
    ///
    /// Answers when that is on the disk, or that it could not get there yet.
    ///
    /// - Parameter thread: of a spread pool, also the name of one slot: then the command for the
    ///   pool comes once for each slot of this node.
    func steer(_ thread: String, isPaused: Bool, _ reply: ReplyToken) {
        let name = PoolSlot.shown(thread)
        let members: [WorkerGroup.Member]
        do throws(JobError) {
            members = try self.members(addressedBy: name)
        } catch {
            return door.answer(reply, .failed(error))
        }
        if isPaused, isRefusing { return door.answer(reply, .failed(.shuttingDown)) }
        if members.allSatisfy({ $0.thread.isStopped }) {
            return door.answer(reply, .failed(scheduler.refusal(ofStopped: name)))
        }
        let isRepeated =
            name != thread && changes.pausedNames.contains(name) == isPaused
            && members.allSatisfy { $0.thread.isPaused == isPaused || $0.thread.isStopped }
        for member in members {
            if isPaused { member.thread.pause() } else { member.thread.resume() }
        }
        if !isRepeated { noteChange(of: name, isPaused ? .paused : .resumed) }
        if !isPaused { exchange.match() }
        let change = isPaused ? PauseChange(paused: names(addressedBy: name)) : goingOn(name)
        changes.note(change)
        input { $0.keepPauses(change, reply) }
    }

    /// Tells readers of events that a thread or pool was steered.
    func noteChange(of name: String, _ kind: ThreadChange.Kind) {
        events?.record(
            .thread(ThreadChange(kind: kind, name: name, at: wall.unixMilliseconds())))
    }

    /// Forgets that the threads of a name were paused: they are stopped, and begin anew with the
    /// daemon.
    func forgetPause(of name: String) {
        guard (try? self.group(of: name)) != nil else { return }
        let change = goingOn(name)
        changes.note(change)
        input { $0.keepPauses(change) }
    }

    /// The names to record for a pause: the name of a pool also covers later members.
    ///
    /// The threads of a spread pool go on with it only: each node has some of its own.
    private func names(addressedBy name: String) -> [String] {
        guard let group = try? self.group(of: name), group.name == name, group.members.count > 1,
            spread.count(of: name) == 1
        else {
            return [name]
        }
        return [name] + group.members.map(\.name)
    }

    /// The change to record when a paused name goes on.
    private func goingOn(_ name: String) -> PauseChange {
        guard let group = try? self.group(of: name), group.name != name else {
            return PauseChange(paused: [], poolGoingOn: name)
        }
        // The pool is no longer paused as a whole: members that stay paused are recorded by name.
        let others = group.members.filter { other in
            other.name != name && other.thread.isPaused && !other.thread.isStopped
        }
        return PauseChange(paused: others.map(\.name), goingOn: [group.name, name])
    }

    /// Pauses the threads that were paused before the restart, by their own names or by their
    /// pool's; nothing has been handed to them yet.
    func pauseAgain(_ names: Set<String>) {
        changes.note(PauseChange(paused: names.sorted()))
        for group in groups { pauseAgain(group, "before the restart") }
    }

    /// Pauses the threads of a group whose pauses are recorded.
    ///
    /// - Parameter when: since when they are, for the log.
    func pauseAgain(_ group: WorkerGroup, _ when: String) {
        let isPausedAsWhole = isPausedByName(group.name)
        for member in group.members where isPausedAsWhole || isPausedByName(member.name) {
            member.thread.pause()
            log.notice("thread \(member.name) is paused, as it was \(when)")
        }
    }

    /// Whether a thread or pool is paused by its own name.
    func isPausedByName(_ name: String) -> Bool { changes.pausedNames.contains(name) }

    /// Pauses a thread that is taken over, or lets it go on, as its last owner has left it.
    func setPause(of name: String, to isPaused: Bool) {
        let change =
            isPaused ? PauseChange(paused: [name]) : PauseChange(paused: [], goingOn: [name])
        changes.note(change)
        guard let members = try? members(addressedBy: name) else { return }
        for member in members where member.name == name || isPaused {
            if isPaused { member.thread.pause() } else { member.thread.resume() }
        }
    }

    /// Pauses a spread pool, or lets it go on, as the owners of its slots have it: this daemon has
    /// had none.
    func setPause(ofPool name: String, to isPaused: Bool) {
        changes.note(
            isPaused
                ? PauseChange(paused: [name]) : PauseChange(paused: [], poolGoingOn: name))
        for member in (try? members(addressedBy: name)) ?? [] {
            if isPaused { member.thread.pause() } else { member.thread.resume() }
        }
    }

    private func members(addressedBy name: String) throws(JobError) -> [WorkerGroup.Member] {
        let group = try self.group(of: name)
        return group.name == name ? group.members : group.member(named: name).map { [$0] } ?? []
    }
}
