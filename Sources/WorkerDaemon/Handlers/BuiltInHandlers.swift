// The selectors that every daemon has, to try it out and to measure it.

internal import CCrypto
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
        "sha256": Handler(.closure { try sha256($0.payload) }),
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

    /// The SHA-256 digest in lower-case hexadecimal.
    private static func sha256(_ payload: [UInt8]) throws -> [UInt8] {
        let digestByteCount = 32
        var digest = [UInt8](repeating: 0, count: digestByteCount)
        let isDone = unsafe payload.withUnsafeBytes { bytes in
            unsafe EVP_Digest(bytes.baseAddress, bytes.count, &digest, nil, EVP_sha256(), nil) == 1
        }
        guard isDone else { throw JobFailure("OpenSSL can't compute a SHA-256 digest") }
        let digits = Array("0123456789abcdef".utf8)
        return digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }
}
