// The end of a process that is no child of this one, such as a worker.

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
    init?(of processID: Int, on loop: ThreadRunLoop, _ body: @escaping () -> Void) {
        guard processID >= 1 else { return nil }
        let body = Confined(body, to: loop)
        do throws(SystemError) {
            process = try ProcessDescriptor(processID)
        } catch {
            // ESRCH: it has ended, and was collected.
            if error.isLackOfProcess { loop.perform { body.value() } }
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
