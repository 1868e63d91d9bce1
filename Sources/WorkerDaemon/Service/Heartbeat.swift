// Signs of life for a service manager, which restarts a daemon that stands still.

internal import Kernel
internal import RunLoops

/// Tells that the daemon is alive, as long as each of its own loops answers.
///
/// These are `io`, `main` and that of the store. Whether the store can write does not count: a
/// restart makes no room on a disk.
///
/// Confined to the loop of `io`.
final class Heartbeat {
    private let driver: SchedulerDriver
    private let health: HealthCheck
    private let tell: () -> Void
    /// The loops that have not answered the question in progress.
    private var missingCount = 0

    private var loop: ThreadRunLoop { driver.loop }

    /// - Parameters:
    ///   - health: how the main thread is asked.
    ///   - tell: called on the loop of `io` when all loops have answered.
    init(_ driver: SchedulerDriver, _ health: HealthCheck, tell: @escaping () -> Void) {
        self.driver = driver
        self.health = health
        self.tell = tell
    }

    /// Asks the loops from now on, once in a while; the timer keeps this object.
    func start(every pause: Duration) {
        let heartbeat = Confined(self, to: loop)
        loop.add(
            ThreadRunLoop.Timer(at: loop.now, every: pause) { _ in heartbeat.value.ask() })
    }

    private func ask() {
        // A loop that has not answered yet is asked no second time.
        guard missingCount == 0 else { return }
        missingCount = 2
        let (loop, heartbeat) = (loop, Confined(self, to: loop))
        if let askMain = health.askMain {
            askMain { loop.perform { heartbeat.value.answered() } }
        } else {
            // There is no main thread of the daemon's.
            missingCount = 1
        }
        driver.confirm { _ in heartbeat.value.answered() }
    }

    private func answered() {
        missingCount -= 1
        if missingCount == 0 { tell() }
    }
}
