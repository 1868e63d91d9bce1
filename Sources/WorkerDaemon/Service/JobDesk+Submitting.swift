// Handing jobs to the threads of their lanes, and waking these: not for each job.

internal import Jobs
internal import RunLoops
internal import WorkerThreads

/// Wake-ups that lanes are owed.
///
/// A thread that is woken for each job of a batch runs it and sleeps again before the next is
/// parsed: one futex call for each job, where one for each batch does.
struct OwedWakes {
    private var wakes: [WorkerPool.OwedWake] = []
    /// So many are paid at once.
    private static let countMax = 16

    var isEmpty: Bool { wakes.isEmpty }
    var isFull: Bool { wakes.count >= Self.countMax }

    mutating func append(_ wake: WorkerPool.OwedWake) { wakes.append(wake) }

    mutating func pay() {
        wakes.forEach { $0.pay() }
        wakes.removeAll(keepingCapacity: true)
    }
}

extension JobDesk {
    /// Lets a job wait for a thread of its lane.
    func submit(_ job: LiveJob) {
        guard let runner else { return }
        let (context, handler, lane) = (job.context, job.handler, job.lane)
        if handler.mayNotListen, handler.timeout(of: context.options) != nil { listen(to: job) }
        let isDurable = job.isDurable
        do throws(SubmitError) {
            let (ticket, owed) = try lane.pool.submitOwingWake(
                onThread: job.thread, priority: job.priority.submitPriority, key: job.key
            ) {
                runner.run(context, handler, on: lane, isDurable: isDurable)
            }
            job.takeTurn(ticket)
            enlist(job)
            if let owed { owe(owed) }
        } catch {
            // The thread was stopped between the look and the submit.
            if job.isDurable { leaveToJournal(job) } else { _ = withdraw(job) }
        }
    }

    /// Wakes a thread for its jobs at the end of the pass, or after so many, whichever is first.
    private func owe(_ wake: WorkerPool.OwedWake) {
        if owedWakes.isEmpty {
            let desk = Confined(self, to: loop)
            loop.perform { desk.value.owedWakes.pay() }
        }
        owedWakes.append(wake)
        if owedWakes.isFull { owedWakes.pay() }
    }
}
