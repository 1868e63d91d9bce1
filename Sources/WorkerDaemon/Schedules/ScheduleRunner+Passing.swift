// Schedules that pass from one daemon to another. A client gives a schedule again, for a thread of
// another daemon. From then on the store refuses the jobs that the former owner makes of it. The
// former owner's next look at the other daemons tells it that some schedule has passed. The new
// owner reads the progress of the schedule in the store.

internal import Jobs
internal import RunLoops

extension ScheduleRunner {
    // MARK: - Going

    /// Stops following a schedule that has another thread in the store, or is gone.
    func forget(_ entry: ScheduleEntry) {
        let name = entry.definition.name
        guard entry.isKept, entries[name] === entry else { return }
        remove(entry)
        driver.log.notice(
            "schedule \(name) of thread \(PoolSlot.shown(entry.thread)) is followed here no more: "
                + "it has another thread by now, or is gone")
    }

    /// Finds the schedules that have another thread in the store, and stops following them.
    func forgetPassed() {
        // A schedule whose row is being written has no other thread yet.
        let kept = entries.values.filter(\.isKept)
        find(kept.map(\.definition.name)) { [self] stored in
            // Without an answer, a schedule that has passed is forgotten at its next run.
            guard let stored else { return }
            for entry in kept where stored[entry.definition.name]?.thread != entry.thread {
                forget(entry)
            }
        }
    }

    // MARK: - Coming

    /// Continues a schedule from its progress in the store: another daemon may have followed it.
    ///
    /// - Parameter knowsProgress: whether this daemon has followed it in the same rhythm, and may
    ///   know more than the store.
    func resume(_ entry: ScheduleEntry, knowsProgress: Bool) {
        let name = entry.definition.name
        // The schedule makes no job before its progress is known.
        expectAnswer(for: name)
        find([name]) { [self] stored in
            let isAwaiting = stillAwaits(name)
            if let stored = stored?[name], stored.thread == entry.thread {
                let progress = stored.progress
                if !knowsProgress || progress.through > entry.progress.through {
                    entry.progress = progress
                }
                if let last = progress.lastJob, !entry.living.contains(last) {
                    entry.living.append(last)
                }
            }
            guard !isAwaiting, let present = entries[name] else { return }
            goOn(present)
            setAlarm()
        }
    }

    /// Finds schedules in the store; calls `body` with nil if it can't be read.
    private func find(
        _ names: [String], then body: @escaping ([String: StoredSchedule]?) -> Void
    ) {
        let confined = Confined(body, to: loop)
        driver.store.askForSchedules(named: names) { [loop] result in
            loop.perform { confined.value(try? result.get()) }
        }
    }
}
