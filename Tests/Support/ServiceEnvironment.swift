// The environment of daemons that tests start.

internal import Kernel

/// The tests' own environment, without the variables of a service manager.
///
/// A daemon would take them for its own: it would tell that manager that it is ready, and keep its
/// jobs in that service's directory.
package func environmentOfNoService() -> [String: String] {
    let told: Set = [
        "JOURNAL_STREAM", "NOTIFY_SOCKET", "STATE_DIRECTORY", "WATCHDOG_PID", "WATCHDOG_USEC",
    ]
    return Program.inheritedEnvironment().filter { !told.contains($0.key) }
}
