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
        find(kept.map(\.definition.name)) { [self] found in
            // Without an answer, a schedule that has passed is forgotten at its next run.
            guard let stored = try? found.get() else { return }
            for entry in kept where stored[entry.definition.name]?.thread != entry.thread {
                forget(entry)
            }
        }
    }

    // MARK: - Coming

    /// Continues a schedule from its progress in the store: another daemon may have followed it.
    func resume(_ entry: ScheduleEntry) {
        let name = entry.definition.name
        expectAnswer(for: name)
        find([name]) { [self] found in
            let isAwaiting = stillAwaits(name)
            if let found = try? found.get() {
                let stored = found[name]
                entry.follow(stored?.thread == entry.thread ? stored?.progress : nil)
            }
            guard !isAwaiting, let present = entries[name] else { return }
            goOn(present)
            setAlarm()
        }
    }

    // MARK: - Looking

    /// Finds the schedule of a name, whichever daemon follows it.
    ///
    /// - Parameters:
    ///   - thread: stays this daemon's meanwhile, for the schedule is to be given to it.
    ///   - body: gets nil if there is none; called at once if this daemon has all threads.
    func find(
        _ name: String, for thread: String? = nil,
        then body: @escaping (Result<StoredSchedule?, StoreFault>) -> Void
    ) {
        let own = entries[name]?.record.stored
        guard driver.store.sharedSeat != nil else { return body(.success(own)) }
        if let thread { wanted[thread, default: 0] += 1 }
        find([name]) { [self] found in
            body(found.map { $0[name] ?? own })
            guard let thread, let count = wanted[thread] else { return }
            wanted[thread] = count > 1 ? count - 1 : nil
        }
    }

    /// Finds schedules in the store.
    private func find(
        _ names: [String],
        then body: @escaping (Result<[String: StoredSchedule], StoreFault>) -> Void
    ) {
        let confined = Confined(body, to: loop)
        driver.store.askForSchedules(named: names) { [loop] found in
            loop.perform { confined.value(found) }
        }
    }
}
