// The start of a program while the machine is short of processes or descriptors: its job waits, as
// a client that finds no descriptor does. The job is not at fault.
//
// A start needs several descriptors at once. Concurrent starts would each get some and none enough,
// so the waiting jobs form a line: only the first one tries, and a later job joins at the end.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Structures
internal import Synchronization
internal import WorkerThreads

/// The line of jobs whose programs wait for room.
///
/// - Thread: any thread.
final class StartLine: Sendable {
    /// A job's place in the line.
    final class Place: Sendable {
        private let loop: ThreadRunLoop

        fileprivate init(_ loop: ThreadRunLoop) { self.loop = loop }

        /// Ends the pause of the worker that waits here.
        fileprivate func wake() { loop.perform(inModes: [.job]) { ThreadRunLoop.current.stop() } }
    }

    private let places = Mutex<[Place]>([])

    /// Whether no job waits.
    var isEmpty: Bool { places.withLock { $0.isEmpty } }

    /// Joins the line at its end.
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

    /// Tells the first job to try at once, since there may be room.
    func roomMayBe() { places.withLock { $0.first }?.wake() }
}

/// Runs a program for a job as soon as there is room for it.
enum ProgramStart {
    /// The pause of the first job in the line between tries; it ends early when a program ends.
    private static let rest = Duration.milliseconds(100)
    /// The number of tries while no program of this daemon runs whose end could make room.
    ///
    /// After them the limit of open descriptors is too small for even one program.
    private static let triesAloneMax = 50

    /// Starts the program and serves it until it has ended.
    ///
    /// - Thread: a worker thread.
    /// - Blocks: until then, or until the job's time limit; the thread serves its loop in mode
    ///   `job`.
    static func run(
        _ selector: Configuration.Selector, job: JobContext, children: ChildRegistry, log: Log
    ) -> Outcome {
        // Also here: a durable job may be older than the configuration.
        if let fault = selector.faultInWords(of: job.options) { return .failed(reason: fault) }
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
            // One pass: whatever ends it, there may be room.
            return hasRested
        }
        alarm.invalidate()
    }
}
