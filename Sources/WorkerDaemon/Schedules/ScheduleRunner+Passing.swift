// Schedules that pass from one daemon to another, as they are given again for a thread of that one.
//
// The store refuses their jobs at the former owner from then on. Already before the next run is
// due, the look at the other daemons tells it that some schedule has passed. The new owner asks the
// store how far the schedule has come.

internal import Jobs
internal import RunLoops

extension ScheduleRunner {
    // MARK: - Going

    /// Follows a schedule no more that has another thread in the store, or is gone.
    func forget(_ entry: ScheduleEntry) {
        let name = entry.definition.name
        guard entry.isKept, entries[name] === entry else { return }
        remove(entry)
        driver.log.notice(
            "schedule \(name) of thread \(PoolSlot.shown(entry.thread)) is followed here no more: "
                + "it has another thread by now, or is gone")
    }

    /// Looks which schedules have another thread in the store, and forgets them.
    func forgetPassed() {
        // Not those whose rows are on their way.
        let kept = entries.values.filter(\.isKept)
        find(kept.map(\.definition.name)) { [self] stored in
            // Each of them is found out when it is due.
            guard let stored else { return }
            for entry in kept where stored[entry.definition.name]?.thread != entry.thread {
                forget(entry)
            }
        }
    }

    // MARK: - Coming

    /// Has a schedule go on from where it is in the store: another daemon may have followed it.
    ///
    /// - Parameter knowsProgress: whether this daemon has followed it in the same rhythm, and may
    ///   know more than the store.
    func resume(_ entry: ScheduleEntry, knowsProgress: Bool) {
        let name = entry.definition.name
        // No run is made before that is known.
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
