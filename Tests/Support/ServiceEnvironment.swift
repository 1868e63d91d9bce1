// The environment of daemons that tests start.

internal import Kernel

/// The tests' own environment, without what a service manager has told whoever runs them.
///
/// A daemon would take it to be meant for itself: it would tell that manager that it is ready, and
/// keep its jobs in that service's directory.
package func environmentOfNoService() -> [String: String] {
    let told: Set = [
        "JOURNAL_STREAM", "NOTIFY_SOCKET", "STATE_DIRECTORY", "WATCHDOG_PID", "WATCHDOG_USEC",
    ]
    return Program.inheritedEnvironment().filter { !told.contains($0.key) }
}
