// A program that can't be started because the machine is short of processes or descriptors for a while: its
// job waits, as a client does that finds no descriptor. It is not the job that is at fault.
//
// A start needs several descriptors at once. Starts that are tried side by side would each get some and
// none enough, so the waiting jobs stand in a line: only the first one tries, and a job that comes later
// lines up behind them.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Structures
internal import Synchronization
internal import WorkerThreads

/// The jobs whose programs wait for room, in order.
///
/// - Thread: any thread.
final class StartLine: Sendable {
    /// A job's place in the line.
    final class Place: Sendable {
        private let loop: ThreadRunLoop

        fileprivate init(_ loop: ThreadRunLoop) { self.loop = loop }

        /// Ends the rest of the worker that waits here.
        fileprivate func wake() { loop.perform(inModes: [.job]) { ThreadRunLoop.current.stop() } }
    }

    private let places = Mutex<[Place]>([])

    /// Whether no job waits.
    var isEmpty: Bool { places.withLock { $0.isEmpty } }

    /// Lines up behind the waiting jobs.
    func join(_ loop: ThreadRunLoop) -> Place {
        let place = Place(loop)
        places.withLock { $0.append(place) }
        return place
    }

    /// Whether it is this job's turn.
    func isFirst(_ place: Place) -> Bool { places.withLock { $0.first === place } }

    /// Leaves the line; the next job tries at once.
    func leave(_ place: Place) {
        let next = places.withLock { places in
            places.removeAll { $0 === place }
            return places.first
        }
        next?.wake()
    }

    /// Room may have come: the first job tries at once.
    func roomMayBe() { places.withLock { $0.first }?.wake() }
}

/// Runs a program for a job as soon as there is room for it.
enum ProgramStart {
    /// How long the first job in the line waits before its next try, unless a program ends before.
    private static let rest = Duration.milliseconds(100)
    /// So often the first job tries while no program of this daemon runs, which could make room: then
    /// the limit of open descriptors is too small for even one.
    private static let triesAloneMax = 50

    /// Starts the program and serves it until it has ended.
    ///
    /// - Thread: a worker thread.
    /// - Blocks: until then, or until the job's time is over; the thread serves its loop in mode `job`.
    static func run(
        _ selector: Configuration.Selector, job: JobContext, children: ChildRegistry, log: Log
    ) -> Outcome {
        let line = children.startLine
        var place: StartLine.Place?
        defer { if let place { line.leave(place) } }
        var triesAlone = 0
        while true {
            let run = ProgramRun(selector, job: job, children: children, log: log)
            if place == nil, !line.isEmpty { place = line.join(run.worker.loop) }
            if let waiting = place, !line.isFirst(waiting) {
                if job.isCancelRequested { return .cancelled }
                if job.isOverTime { return .timedOut }
                takeRest(run.worker)
                continue
            }
            do throws(SystemError) {
                let outcome = try run.run {
                    if let waiting = place { line.leave(waiting) }
                    place = nil
                }
                line.roomMayBe()
                return outcome
            } catch {
                let fault = "can't start \(selector.program.executable): \(error)"
                triesAlone = children.count == 0 ? triesAlone + 1 : 0
                guard error.isForWantOfRoom, !job.isOverTime, triesAlone < triesAloneMax else {
                    return .failed(reason: fault + (triesAlone < triesAloneMax ? "" : advice))
                }
                if job.isCancelRequested { return .cancelled }
                if place == nil {
                    place = line.join(run.worker.loop)
                    log.warning("\(job.title) waits for room: \(fault)")
                }
                takeRest(run.worker)
            }
        }
    }

    private static var advice: String {
        let limit = (try? ResourceLimit.openDescriptors.current().soft).map { ", which is \($0)" }
        return "; no program runs that could make room: raise the limit of open files"
            + "\(limit ?? "") (ulimit -n, LimitNOFILE= of a unit)"
    }

    private static func takeRest(_ worker: WorkerCore) {
        let loop = worker.loop
        let end = loop.now.advanced(by: rest)
        let alarm = ThreadRunLoop.Timer(at: end) { _ in loop.stop() }
        loop.add(alarm, to: .job)
        var hasRested = false
        worker.serveJob {
            defer { hasRested = true }
            // One run: whatever stops it, there may be room.
            return hasRested
        }
        alarm.invalidate()
    }
}
