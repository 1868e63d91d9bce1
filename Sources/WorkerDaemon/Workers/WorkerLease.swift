// The lease of a worker without a connection: it is over after a time, or once the worker's process
// has ended.

internal import Jobs
internal import Kernel
internal import RunLoops

/// A watch on the end of a process that is no child.
///
/// Confined to its loop's thread.
final class ProcessEnd {
    private let process: ProcessDescriptor
    private var port: ThreadRunLoop.Port?

    /// Calls `body` once the process has ended; at the next pass if it has already.
    ///
    /// - Returns: nil where the kernel can't watch it: it counts as alive.
    init?(of known: JobHolder.Process, on loop: ThreadRunLoop, _ body: @escaping () -> Void) {
        guard known.id >= 1 else { return nil }
        let body = Confined(body, to: loop)
        do throws(SystemError) {
            process = try ProcessDescriptor(known.id)
        } catch {
            // ESRCH: it has ended, and was collected.
            if error.isLackOfProcess { loop.perform { body.value() } }
            return nil
        }
        // Checked after the opening: the number may have passed to another process before it.
        if known.birth != 0, let birth = RunningProcess.birth(of: known.id), birth != known.birth {
            loop.perform { body.value() }
            return nil
        }
        let port = ThreadRunLoop.Port(watching: process.descriptor.number) { _, _ in
            body.value()
        }
        self.port = port
        guard (try? loop.add(port)) != nil else { return nil }
    }

    func close() {
        port?.invalidate()
        port = nil
    }
}

/// The time for which a job is kept for a worker that has no connection.
///
/// Confined to its loop's thread.
final class WorkerLease {
    private let loop: ThreadRunLoop
    private var timeout: ThreadRunLoop.Timeout?
    private var processEnd: ProcessEnd?

    /// Calls `body` once the time is over or the process has ended; perhaps for both.
    ///
    /// - Parameters:
    ///   - process: the worker's process; nil if its end can't be seen.
    ///   - limit: nil for no limit.
    init(
        of process: JobHolder.Process?, for limit: Duration?, on loop: ThreadRunLoop,
        _ body: @escaping () -> Void
    ) {
        self.loop = loop
        let lease = Confined((lease: self, body: body), to: loop)
        timeout = limit.map { limit in
            loop.schedule(at: loop.now.advanced(by: limit)) {
                lease.value.lease.timeout = nil
                lease.value.body()
            }
        }
        processEnd = process.flatMap { ProcessEnd(of: $0, on: loop, body) }
    }

    func end() {
        if let timeout = timeout.take() { loop.cancel(timeout) }
        processEnd?.close()
        processEnd = nil
    }
}

extension JobHolder.Home {
    /// The home of the processes that this daemon sees; nil if that is not known.
    static let own = ProcessScope.own.map {
        JobHolder.Home(machine: $0.machine, start: $0.start, numbers: $0.numbers)
    }
}

extension JobHolder.Process {
    /// Whether the end of a worker of an earlier run can be seen here: it was a known process, and
    /// none of another machine or container.
    var isSeen: Bool {
        guard birth != 0, let home, let own = JobHolder.Home.own else { return birth != 0 }
        return home.isSeen(from: own)
    }

    /// Whether a worker may have connected again.
    ///
    /// Of a worker that came by TCP or through another node, no process is known.
    static func mayBeOfOneUser(_ former: Self?, _ latter: Self?) -> Bool {
        guard let former, let latter else { return true }
        return former.userID == latter.userID
    }
}
