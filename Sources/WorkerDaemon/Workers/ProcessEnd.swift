// The end of a process that is no child of ours: a worker's.

internal import Kernel
internal import RunLoops

/// Tells when a process ends that is not ours.
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
        let held = Confined((body: body, unused: 0), to: loop)
        do throws(SystemError) {
            process = try ProcessDescriptor(processID)
        } catch {
            // ESRCH: it has ended, and was collected.
            if error.isLackOfProcess { loop.perform { held.value.body() } }
            return nil
        }
        let port = ThreadRunLoop.Port(watching: process.descriptor.number) { _, _ in
            held.value.body()
        }
        self.port = port
        guard (try? loop.add(port)) != nil else { return nil }
    }

    func close() {
        port?.invalidate()
        port = nil
    }
}
