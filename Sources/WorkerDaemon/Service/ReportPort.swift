// How workers tell the desk what has become of their jobs. To wake a thread costs a worker more than a
// short job does. So while much waits for the workers the desk is not woken, but looks now and then, as
// the driver of a network card does under load; when that is over, it is to be woken again.
//
// Values of `looking`: true while a look is sure to come.
// E1  send: push, which says "first" once after each rest, then looking.load
//     look: looking.store(false), then the inbox's rest
//     sequentially consistent: who is told "first" after the rest sees that nobody looks, and wakes
//     the desk; what was pushed before, the rest itself finds. Without it a report would lie there
//     until the next one.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Structures
internal import Synchronization

/// What a worker says to the desk, in the order in which it happened.
enum WorkerReport: Sendable {
    /// A job has ended.
    case ended(Completion)
    /// A job was not begun, because another one of its order comes first.
    case heldBack(JobID, JobOrder)
}

/// Takes the reports of workers to the desk.
///
/// - Thread: the desk's, but for `send`.
final class ReportPort: Sendable {
    /// How long after a look the next one comes.
    ///
    /// A report is late by so much at most, and by what the kernel adds to a sleep (50 µs).
    private static let pause = Duration.microseconds(100)

    private let line: Line
    private let port: ThreadRunLoop.Port
    /// Nil where time stands still: a look would never come.
    private let timer: ThreadRunLoop.Timer?

    /// Opens the port on the calling thread's loop.
    ///
    /// - Parameters:
    ///   - looksByItself: whether it may look now and then instead of being woken.
    ///   - receive: told each report.
    ///   - received: called when all that had come was received; returns whether so much is to
    ///     come soon that it is better to look for it.
    init(
        on loop: ThreadRunLoop, looksByItself: Bool,
        receive: @escaping @Sendable (WorkerReport) -> Void,
        received: @escaping @Sendable () -> Bool
    ) {
        let line = Line(loop, receive: receive, received: received)
        self.line = line
        // Made once and set again and again, as it is cheaper; no look comes by itself.
        let timer = ThreadRunLoop.Timer(at: .distantFuture, every: .seconds(365 * 86_400)) {
            line.look($0)
        }
        let looker = looksByItself ? timer : nil
        self.timer = looker
        port = ThreadRunLoop.Port { _, _ in line.look(looker) }
        loop.add(signalled: port)
        if let looker { loop.add(looker) }
    }

    /// Tells the desk; wakes it unless it looks by itself soon.
    ///
    /// - Thread: any thread; the reports of one thread keep their order.
    /// - Blocks: never; a system call only if the desk sleeps.
    func send(_ report: consuming WorkerReport) {
        if line.add(report) { port.signal() }
    }

    /// Looks in a while: so much was given to the workers that something will have come by then.
    func lookSoon() {
        if let timer, !line.isLooking { line.look(in: Self.pause, by: timer) }
    }

    /// Receives nothing any more.
    func close() {
        port.invalidate()
        timer?.invalidate()
        line.close()
    }

    /// What has been sent and not received.
    private final class Line: Sendable {
        private let inbox = Inbox<WorkerReport>()
        private let looking = Atomic<Bool>(false)
        private let loop: ThreadRunLoop
        private let receive: @Sendable (WorkerReport) -> Void
        private let received: @Sendable () -> Bool

        init(
            _ loop: ThreadRunLoop, receive: @escaping @Sendable (WorkerReport) -> Void,
            received: @escaping @Sendable () -> Bool
        ) {
            self.loop = loop
            self.receive = receive
            self.received = received
        }

        var isLooking: Bool { looking.load(ordering: .sequentiallyConsistent) }

        /// - Returns: whether the desk has to be woken.
        func add(_ report: consuming WorkerReport) -> Bool {
            inbox.push(report) == .first && !isLooking  // E1
        }

        func look(in pause: Duration, by timer: ThreadRunLoop.Timer) {
            looking.store(true, ordering: .sequentiallyConsistent)
            timer.fireDate = loop.now.advanced(by: pause)
        }

        /// Receives what has come; looks again if that is worth while, or lets itself be woken.
        func look(_ timer: ThreadRunLoop.Timer?) {
            let end = inbox.end
            var isEmpty = true
            while !inbox.isTaken(upTo: end), let report = inbox.popFirst() {
                isEmpty = false
                receive(report)
            }
            if !isEmpty, received(), let timer { return look(in: ReportPort.pause, by: timer) }
            looking.store(false, ordering: .sequentiallyConsistent)  // E1
            if inbox.rest() { return }
            // Something is just arriving: in the next pass it is there.
            if isEmpty { SystemThread.yield() }
            loop.perform { [self] in look(timer) }
        }

        func close() {
            var left: [WorkerReport] = []
            inbox.close(into: &left, waiting: SystemThread.yield)
        }
    }
}
