// The end of a process that is no child of this one, such as a worker.

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
        // Behind the opening: what is open is that process, or another one of its number.
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
