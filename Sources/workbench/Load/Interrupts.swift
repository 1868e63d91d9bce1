// Control-C ends the started children, too: each is in a process group of its own, which the
// terminal's signal does not reach. It also removes our directories.

internal import Dispatch
internal import Foundation
internal import Glibc
internal import Synchronization

enum Interrupts {
    private static let groups = Mutex<Set<Int>>([])
    private static let directories = Mutex<Set<String>>([])

    /// Passes SIGINT and SIGTERM on, while its result is kept.
    static func passOn() -> [any DispatchSourceSignal] {
        [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler {
                for group in groups.withLock({ $0 }) { kill(-pid_t(group), SIGTERM) }
                // Their servers may still write: open files go when they end.
                for directory in directories.withLock({ $0 }) {
                    try? FileManager.default.removeItem(atPath: directory)
                }
                exit(128 + number)
            }
            // Waits until libdispatch has its descriptors and threads for this: no scenario may
            // count them among its own.
            let isRegistered = DispatchSemaphore(value: 0)
            source.setRegistrationHandler { isRegistered.signal() }
            source.resume()
            isRegistered.wait()
            return source
        }
    }

    static func note(directory: String) {
        directories.withLock { _ = $0.insert(directory) }
    }

    static func note(_ group: Int) {
        groups.withLock { _ = $0.insert(group) }
    }

    static func forget(_ group: Int) {
        groups.withLock { _ = $0.remove(group) }
    }
}
