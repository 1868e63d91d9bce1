// Carries out actions on many jobs. Jobs are listed and acted on a page at a time, with others
// served in between, so that neither memory nor the wait of other clients grows with their number.
//
//     list a page ──▶ act on each of its jobs ──▶ all answered ──▶ the next page
//
// A run belongs to no connection: it goes on when its client has left, and ends with the daemon.

internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops

/// The actions on many jobs that go on, and the last ones that have ended.
///
/// Confined to the driver's thread.
final class BulkRunner {
    /// Its name as a client of the scheduler; connections count from 1 on.
    static let client = UInt64.max
    /// The most runs that go on at a time.
    private static let runningCountMax = 4
    /// The most runs that have ended and are shown.
    private static let keptCountMax = 100
    /// The most jobs of a page.
    private static let pageCountMax = 256

    private let driver: SchedulerDriver
    /// Answers a client.
    private let answer: (ReplyToken, RESPValue) -> Void
    /// By their numbers, which count up.
    private var runs: [BulkRun] = []
    private var lastRunNumber = 0
    /// The questions that are not answered, by their numbers.
    private var asked: [UInt64: Question] = [:]
    private var lastQuestion: UInt64 = 0

    private enum Question {
        case page(BulkRun, limit: Int)
        case job(BulkRun)
    }

    init(_ driver: SchedulerDriver, answer: @escaping (ReplyToken, RESPValue) -> Void) {
        self.driver = driver
        self.answer = answer
    }

    /// The runs that a user may see, the newest first.
    func values(for user: User) -> [RESPValue] {
        runs.reversed().filter { $0.isShown(to: user) }.map(\.value)
    }

    /// Begins to carry out an order.
    func begin(_ order: BulkOrder) throws(WireError) -> BulkRun {
        let runningCount = runs.count { $0.isRunning }
        guard runningCount < Self.runningCountMax else {
            throw WireError(
                .busy, "\(runningCount) runs of BULK go on already: BULK LIST shows them")
        }
        lastRunNumber += 1
        let run = BulkRun(number: lastRunNumber, order, now: driver.wall.unixMilliseconds())
        runs.append(run)
        if runs.count > Self.keptCountMax, let place = runs.firstIndex(where: { !$0.isRunning }) {
            runs.remove(at: place)
        }
        listPage(of: run)
        return run
    }

    func run(_ number: Int, for user: User) throws(WireError) -> BulkRun {
        if let run = runs.first(where: { $0.number == number && $0.isShown(to: user) }) {
            return run
        }
        throw WireError(
            .noJob, "there is no run \(number) of BULK, or it ended too long ago to be kept")
    }

    /// Acts on no further page.
    func stop(_ number: Int, for user: User) throws(WireError) -> BulkRun {
        let run = try run(number, for: user)
        if run.isRunning { run.isStopping = true }
        return run
    }

    /// Answers with the run when it has ended, or as it is when the client's patience ends.
    func wait(for run: BulkRun, milliseconds: Int, _ reply: ReplyToken) {
        guard run.isRunning else { return answer(reply, run.value) }
        let waiting = Confined((runner: self, run: run), to: driver.loop)
        run.waiting[reply] = driver.loop.schedule(after: .milliseconds(milliseconds)) {
            let (runner, run) = waiting.value
            guard run.waiting.removeValue(forKey: reply) != nil else { return }
            runner.answer(reply, run.value)
        }
    }

    // MARK: - Pages

    private func listPage(of run: BulkRun) {
        run.page = []
        run.listedCount = 0
        let limit = min(Self.pageCountMax, run.left)
        let listing = run.order.listing(run.span, limit: limit, expect(.page(run, limit: limit)))
        driver.input { $0.goOn(listing) }
    }

    private func expect(_ question: Question) -> ReplyToken {
        lastQuestion += 1
        asked[lastQuestion] = question
        return ReplyToken(client: Self.client, number: lastQuestion)
    }

    /// Takes rows of a page.
    ///
    /// - Returns: whether more are wanted.
    func add(_ rows: [JobStatus], to question: UInt64) -> Bool {
        guard case .page(let run, _) = asked[question] else { return false }
        if run.isStopping {
            asked[question] = nil
            end(run)
            return false
        }
        run.page += rows.map(\.job).filter { run.order.means($0, where: driver.isOpen) }.map(\.id)
        run.listedCount += rows.count
        if let last = rows.last { run.span.goOn(behind: last.job.id) }
        return true
    }

    func answered(_ question: UInt64, _ answer: JobAnswer) {
        switch asked.removeValue(forKey: question) {
        case nil: break
        case .page(let run, let limit):
            if case .failed(let error) = answer { return end(run, error) }
            run.isLastPage = run.listedCount < limit
            act(on: run)
        case .job(let run): note(answer, of: run)
        }
    }

    // MARK: - Jobs

    private func act(on run: BulkRun) {
        run.foundCount += run.page.count
        // One more for this function: answers may come at once.
        run.pendingCount = run.page.count + 1
        for id in run.page {
            let reply = expect(.job(run))
            switch run.order.action {
            case .cancel: driver.input { $0.cancel(id, reply) }
            case .retry: driver.input { $0.runAgain(.one(id), reply) }
            case .drop: driver.input { $0.drop(.one(id), reply) }
            }
        }
        finishOne(of: run)
    }

    private func note(_ answer: JobAnswer, of run: BulkRun) {
        switch answer {
        case .cancel(.cancelled), .cancel(.requested), .count(1): run.doneCount += 1
        case .failed(let error) where error.endsBulkRun: run.fault = run.fault ?? error
        default: run.changedCount += 1
        }
        finishOne(of: run)
    }

    private func finishOne(of run: BulkRun) {
        run.pendingCount -= 1
        guard run.pendingCount == 0, run.isRunning else { return }
        if run.isStopping || run.isLastPage || run.left == 0 || run.fault != nil {
            return end(run, run.fault)
        }
        let next = Confined((runner: self, run: run), to: driver.loop)
        driver.loop.perform { next.value.runner.listPage(of: next.value.run) }
    }

    private func end(_ run: BulkRun, _ fault: JobError? = nil) {
        run.fault = fault
        run.page = []
        run.endedAt = driver.wall.unixMilliseconds()
        driver.log.notice(
            "BULK \(run.order.action.rawValue.uppercased()) \(run.number): \(run.doneCount) done, "
                + "\(run.changedCount) had changed"
                + (fault.map { "; ended by: \($0)" } ?? (run.isStopping ? "; stopped" : "")))
        for (reply, timeout) in run.waiting {
            driver.loop.cancel(timeout)
            answer(reply, run.value)
        }
        run.waiting = [:]
    }
}

extension JobError {
    /// Whether it is no fault of one job: the next one would meet it too.
    fileprivate var endsBulkRun: Bool { isPassing || self == .shuttingDown }
}
