// The driver's part in changes of threads and selectors: handlers and threads by the scheduler's
// indices.

internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops
internal import Synchronization
internal import Wording
internal import WorkerThreads

extension SchedulerDriver {
    /// The pause before a claim that the store could not answer is tried again.
    private static let pauseBeforeClaim = Duration.seconds(1)

    /// All threads that may run something: also those of groups that go or have gone.
    var allGroups: [WorkerGroup] {
        groupsByIndex
            + changes.retired.filter { group in
                !groupsByIndex.contains { $0 === group }
            }
    }

    /// Whether the threads of a group are served.
    func isServed(_ group: WorkerGroup) -> Bool { groups.contains { $0 === group } }

    /// The names of all selectors that were ever served, by their indices.
    var selectorNames: [String] { scheduler.selectorNames }

    /// Calls `body` when all jobs of an earlier run are counted.
    func whenCounted(then body: @escaping () -> Void) {
        let tag = expect { _ in body() }
        input { $0.whenCounted(tag: tag) }
    }

    /// Asks the scheduler for a change.
    ///
    /// - Parameter then: told its answer.
    func ask(
        _ body: (inout JobScheduler, ReplyToken) -> Void, then: @escaping (JobError?) -> Void
    ) {
        let reply = changes.reply(then: then)
        input { body(&$0, reply) }
    }

    /// The scheduler has answered a change.
    func changed(_ number: UInt64, _ answer: JobAnswer) {
        guard let body = changes.take(number) else { return }
        // In a pass of its own: the driver is in the middle of effects.
        let confined = Confined((body: body, answer: answer), to: loop)
        loop.perform {
            if case .failed(let error) = confined.value.answer {
                confined.value.body(error)
            } else {
                confined.value.body(nil)
            }
        }
    }

    /// Claims the stored jobs of a thread, until the store can answer.
    ///
    /// - Parameter then: told the answer of the scheduler; nil also if another daemon has the
    ///   thread by now, which claims it itself.
    func claim(_ thread: String, then: @escaping (JobError?) -> Void) {
        ask({ $0.claim(thread, $1) }) { [unowned self] error in
            guard case .storeFailed(let fault) = error else { return then(error) }
            guard fault.kind != .foreignThread else { return then(nil) }
            // It counts as a change until then: the thread is not given away meanwhile.
            let reply = changes.reply { [unowned self] _ in claim(thread, then: then) }
            let driver = Confined(self, to: loop)
            _ = loop.schedule(after: Self.pauseBeforeClaim) {
                driver.value.changed(reply.number, .done)
            }
        }
    }

    // MARK: - Selectors

    /// Serves these selectors and no others from now on.
    ///
    /// - Returns: the threads whose stored jobs have to be released and claimed.
    func serve(_ handlers: [String: Handler]) -> [String] {
        let threads = input { scheduler in
            let threads = scheduler.serve(handlers.mapValues(\.defaults))
            self.handlers = handlers
            for (index, name) in scheduler.selectorNames.enumerated() {
                guard let handler = handlers[name] else { continue }
                if index < handlersByIndex.count {
                    handlersByIndex[index] = handler
                } else {
                    handlersByIndex.append(handler)
                }
            }
            changes.noteStale(threads.filter { !isOpen($0) })
            return threads.filter(isOpen)
        }
        follow()
        return threads
    }

    /// Counts what new threads and selectors do, and has the threads report the beginnings of jobs.
    ///
    /// Before they get any: a change may wait for the jobs of other threads before it is over.
    private func follow() {
        figures?.grow(groups: groupsByIndex, selectors: selectorNames)
        reportBeginnings()
    }

    // MARK: - Threads

    /// Serves a group from now on.
    ///
    /// - Returns: the threads whose stored jobs have to be claimed.
    func serve(_ group: WorkerGroup) -> [String] {
        let names = input { scheduler in
            let (index, names) = scheduler.serve(
                group: group.name, memberNames: group.members.map(\.name),
                maxQueued: group.maxQueued, maxQueuedByteCount: group.maxQueuedByteCount)
            place(group, at: index)
            return names
        }
        follow()
        return names
    }

    private func place(_ group: WorkerGroup, at index: Int) {
        if index < groupsByIndex.count {
            groupsByIndex[index] = group
        } else {
            groupsByIndex.append(group)
        }
        groups.append(group)
    }

    /// Lists the groups in the order of these names from now on.
    func arrange(_ names: [String]) {
        let places = Dictionary(uniqueKeysWithValues: zip(names, names.indices))
        groups.sort { places[$0.name, default: .max] < places[$1.name, default: .max] }
    }

    /// Serves a suspended group with other threads from now on, or goes on with its own.
    ///
    /// - Returns: the threads whose stored jobs have to be claimed.
    func replace(_ group: WorkerGroup, by fresh: WorkerGroup) -> [String] {
        let place = groups.firstIndex { $0 === group }
        if let place { groups[place] = fresh }
        for index in groupsByIndex.indices where groupsByIndex[index] === group {
            groupsByIndex[index] = fresh
        }
        follow()
        return input {
            $0.resume(group: group.name, memberNames: fresh.members.map(\.name))
        }
    }

    /// Stops the threads of a group whose names were stopped in the group that it has replaced.
    func stopAgain(_ fresh: WorkerGroup, as before: WorkerGroup) {
        let names =
            before.isStopped
            ? [fresh.name]
            : fresh.members.map(\.name).filter {
                before.member(named: $0)?.thread.isStopped == true
            }
        for name in names {
            fresh.stop(name)
            log.notice("thread \(name) stays stopped")
        }
        exchange.leaveStopped()
    }

    /// Changes the settings of a group beside its count.
    func limit(_ thread: Configuration.Thread) {
        groups.first { $0.name == thread.name }?.configuration = thread
        input {
            $0.limit(
                group: thread.name, maxQueued: thread.maxQueued,
                maxQueuedByteCount: thread.maxQueuedBytes)
        }
    }

    /// Ends the threads of a group that runs nothing any more.
    func retire(_ group: WorkerGroup) {
        exchange.forget(threadsOf: group)
        group.pool.resume()
        group.pool.stop(.finishCurrent)
        changes.retire(group)
    }

    /// Says in the log which jobs a change waits for.
    func tellRunning(of group: WorkerGroup) {
        let running = group.members.compactMap { member in
            member.current.withLock { $0 }.map { "\($0.title) on \(member.name)" }
        }
        guard !running.isEmpty else { return }
        log.notice("the reload waits for \(running.joined(separator: ", "))")
    }
}

extension WorkerExchange {
    /// Answers the TAKEs for threads that have gone: their connections may ask for others.
    func forget(threadsOf group: WorkerGroup) {
        for taker in takers
        where taker.request.own.map({ group.member(named: $0.name) === $0 }) == true {
            if let timeout = taker.timeout.take() { loop.cancel(timeout) }
            takers.removeAll { $0 === taker }
            let name = taker.request.own?.name ?? group.name
            door?.answer(
                taker.reply,
                WireError(.noThread, "the thread \(quoted(name)) has changed: ask again").reply)
        }
        for member in group.members { owners[member.name] = nil }
    }
}
