// The selectors that every daemon has, to try it out and to measure it.

internal import Kernel
internal import RunLoops
internal import WorkerThreads

extension Handler {
    /// The built-in selectors by name.
    static let builtIn: [String: Handler] = [
        "echo": Handler(.closure { $0.payload }),
        "sleep": Handler(.closure(sleep)),
        "fail": Handler(
            .closure { throw JobFailure($0.payload.isEmpty ? "failed as asked" : $0.text) }),
        "sha256": Handler(
            .closure { Array(Hexadecimal.text(of: SHA256.digest(of: $0.payload)).utf8) }),
    ]

    /// Waits the number of milliseconds in the payload, and returns the payload.
    private static func sleep(_ job: JobContext) throws -> [UInt8] {
        let longest = 24 * 60 * 60 * 1_000
        guard let milliseconds = Int(job.text), (0...longest).contains(milliseconds) else {
            throw JobFailure(
                "the payload must be milliseconds from 0 to \(longest), "
                    + "is \"\(job.text.prefix(40))\"")
        }
        guard let worker = WorkerCore.current else { fatalError("not on a worker thread") }
        let loop = worker.loop
        let wake = loop.now.advanced(by: .milliseconds(milliseconds))
        let limit = job.run?.deadline ?? .distantFuture
        let alarm = ThreadRunLoop.Timer(at: min(wake, limit)) { _ in loop.stop() }
        loop.add(alarm, to: .job)
        job.onCancel { loop.perform(inModes: [.job]) { loop.stop() } }
        worker.serveJob { job.isCancelled || loop.now >= wake }
        alarm.invalidate()
        if loop.now < wake { try job.checkCancellation() }
        return job.payload
    }
}
