// Schedules in a random history of several daemons. Each schedule is given again and again, for the
// threads of any node. No moment of a schedule has two jobs. A node does the same steps as
// `ScheduleRunner` in the daemon.

import Jobs
import StoreTwin
import Support

/// A schedule as a node follows it.
struct SimulatedSchedule {
    let thread: String
    /// All moments until this one are dealt with.
    var through: Int64
}

extension NodesSimulation {
    private static let period: Int64 = 5_000

    /// Gives a node a schedule for one of its threads.
    func giveSchedule() {
        guard let node = nodes.randomElement(using: &random), !node.isFrozen, !node.isLeaving,
            let thread = node.open.sorted().randomElement(using: &random)
        else { return }
        let name = "s\(random.below(2))"
        note("\(node.name): schedule \(name) of \(thread)")
        let now = node.driver.now.unixMilliseconds
        let record = ScheduleRecord(
            ScheduleDefinition(
                name: name, rhythm: .every(milliseconds: Self.period),
                request: JobRequest(thread: thread, selector: "echo")),
            isFromCommand: true, progress: ScheduleProgress(since: now))
        node.addedSchedules[name, default: 0] += 1
        node.keep({ .keepSchedule(record, ticket: $0) }) { [unowned self, unowned node] fault in
            node.addedSchedules[name, default: 0] -= 1
            guard fault == nil else { return }
            let stored = database.book.schedule(name)
            let isStored = stored?.definition.request.thread == thread
            let through = (isStored ? stored?.progress.through : nil) ?? now
            node.schedules[name] = SimulatedSchedule(
                thread: thread, through: max(through, node.schedules[name]?.through ?? .min))
            count("scheduled")
        }
    }

    /// Makes the jobs of a node's schedules that are due.
    func runSchedules(of node: SimulatedNode) {
        guard !node.isLeaving else { return }
        let now = node.driver.now.unixMilliseconds
        let moment = now - now % Self.period
        for (name, schedule) in node.schedules.sorted(by: { $0.key < $1.key })
        where schedule.through < moment && node.addedSchedules[name, default: 0] == 0
            && node.awaitedSchedules.insert(name).inserted
        {
            var request = JobRequest(
                thread: schedule.thread, selector: "echo", payload: [1])
            request.schedule = .at(moment)
            let run = ScheduleRun(name: name, thread: schedule.thread, through: moment, at: now)
            note("\(node.name): run \(name) of \(schedule.thread) at \(moment)")
            node.ask({ $0.perform(request, of: run, $1) }) { [unowned self, unowned node] answer in
                node.awaitedSchedules.remove(name)
                let present = node.schedules[name]
                switch answer {
                case .accepted(let id):
                    ledger.accepted(id, request)
                    node.schedules[name]?.through = max(present?.through ?? moment, moment)
                    count("run")
                case .failed(.storeFailed(let fault)) where fault.kind == .scheduleGone:
                    if present?.thread == run.thread { node.schedules[name] = nil }
                    count("passed")
                default: break
                }
            }
            node.driver.input { $0.keepRuns() }
        }
    }

    /// Checks that the moments of new jobs have no other job in the database.
    func noteRuns(_ runs: [MadeRun]) {
        for made in runs where database.book.job(made.new.job.id) != nil {
            let moment = "\(made.run.name) at \(made.run.through)"
            let others = moments[moment, default: []].filter { database.book.job($0) != nil }
            if let other = others.first {
                fail("jobs \(other) and \(made.new.job.id) are of one moment, \(moment)")
            }
            moments[moment] = others + [made.new.job.id]
        }
    }
}
