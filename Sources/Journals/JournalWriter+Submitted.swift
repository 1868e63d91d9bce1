// Jobs that were submitted in the store itself. The journal hands them on a part at a time: the
// next part is read when all jobs of the one before are accepted, refused or have found no room. So
// memory is bounded, and a job is never handed on twice.

internal import Jobs
internal import RunLoops

/// How far the journal is with submitted jobs.
///
/// Confined to the journal's thread.
struct SubmittedWatch {
    /// Whether jobs are handed on and not all settled.
    var isPartOut = false
    /// Threads with a job of the part that is to be tried again: a later one would overtake it.
    var heldUp: [String: StoreFault] = [:]
    /// Threads without room, and until when they are left alone.
    var busyThreads: Set<String> = []
    var busyUntil: Instant?
    /// How long they are left alone next.
    private var busyPause = Self.busyPauses.lowerBound
    var timer: ThreadRunLoop.Timer?
    var port: ThreadRunLoop.Port?

    /// How long jobs wait that have found no room: longer and longer while none finds any.
    private static let busyPauses = Duration.milliseconds(50)...Duration.seconds(1)

    /// A part is settled of which some jobs have found no room.
    ///
    /// - Returns: the time after which to try these again.
    mutating func pause(after answer: SubmittedAnswer) -> Duration {
        busyPause =
            answer.acceptedCount > 0
            ? Self.busyPauses.lowerBound : min(busyPause * 2, Self.busyPauses.upperBound)
        return busyPause
    }

    mutating func close() {
        timer?.invalidate()
        port?.invalidate()
        (timer, port) = (nil, nil)
        isPartOut = true
    }
}

extension JournalWriter {
    /// The pause after a look that has failed.
    private static let failurePause = Duration.milliseconds(250)

    /// Begins to look for submitted jobs.
    func watchSubmitted() {
        guard let table = store?.submittedJobs else { return }
        let writer = Confined(self, to: loop)
        table.watch { descriptor in writer.value.watchSubmitted(on: descriptor) }
        lookForSubmitted(in: .zero)
    }

    private func watchSubmitted(on descriptor: CInt?) {
        submitted.port?.invalidate()
        submitted.port = nil
        guard let descriptor else { return }
        let writer = Confined(self, to: loop)
        let port = ThreadRunLoop.Port(watching: descriptor) { _, _ in writer.value.hear() }
        do {
            try loop.add(port)
            submitted.port = port
            // News may have come before it was watched.
            lookForSubmitted(in: .zero)
        } catch {
            log.error("the journal can't watch its connection: \(error)")
        }
    }

    /// The descriptor is readable.
    private func hear() {
        // The answer to a transaction, it may be.
        if undecided != nil { return decide() }
        do throws(StoreFault) {
            if try store?.submittedJobs?.takeNews() == true { look(isPolling: false) }
        } catch {
            // The next sign of life connects again.
        }
    }

    /// Looks for submitted jobs if news of them has come with other answers of the server.
    func hearOfSubmitted(_ store: any JournalTables) {
        if store.submittedJobs?.hasNews == true { lookForSubmitted(in: .zero) }
    }

    /// Looks for submitted jobs after a time.
    func lookForSubmitted(in pause: Duration, isPolling: Bool = false) {
        guard !submitted.isPartOut else { return }
        submitted.timer?.invalidate()
        var due = loop.now.advanced(by: pause)
        if let until = submitted.busyUntil { due = min(due, until) }
        let writer = Confined(self, to: loop)
        let timer = ThreadRunLoop.Timer(at: due) { _ in writer.value.look(isPolling: isPolling) }
        submitted.timer = timer
        loop.add(timer)
    }

    private func look(isPolling: Bool) {
        guard let table = store?.submittedJobs, !submitted.isPartOut else { return }
        submitted.timer?.invalidate()
        submitted.timer = nil
        if let until = submitted.busyUntil, until <= loop.now {
            submitted.busyUntil = nil
            submitted.busyThreads = []
        }
        guard undecided == nil, refused.isEmpty else {
            return lookForSubmitted(in: Self.failurePause)
        }
        do throws(StoreFault) {
            let found = try table.look(without: submitted.busyThreads, isPolling: isPolling)
            guard !found.jobs.isEmpty else {
                // Some may have been committed behind the snapshot of the look.
                if table.hasNews { return lookForSubmitted(in: .zero) }
                return lookForSubmitted(in: found.pause, isPolling: true)
            }
            submitted.isPartOut = true
            send?([.submitted(found.jobs)])
        } catch {
            if !health.isFailing, error.kind != .away {
                log.error("the journal can't read submitted jobs: \(error)")
            }
            lookForSubmitted(in: Self.failurePause)
        }
    }

    /// The jobs of a part are accepted, but for some.
    func settled(_ answer: SubmittedAnswer) {
        submitted.isPartOut = false
        submitted.heldUp = [:]
        submitted.busyThreads.formUnion(answer.busyThreads)
        guard answer.isBusy || !answer.busyThreads.isEmpty else {
            return lookForSubmitted(in: .zero)
        }
        let pause = submitted.pause(after: answer)
        if submitted.busyUntil == nil { submitted.busyUntil = loop.now.advanced(by: pause) }
        lookForSubmitted(in: answer.isBusy ? pause : .zero)
    }

    /// Other selectors are served: refused jobs may be accepted now.
    func tryRefusedAgain() {
        guard let table = store?.submittedJobs else { return }
        table.tryRefusedAgain()
        lookForSubmitted(in: .zero)
    }
}
