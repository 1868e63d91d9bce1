// A configuration that a program gives in place of a file.

import Testing
import WorkerDaemon

@Suite(.timeLimit(.minutes(2)))
struct `Configuration by code` {
    @Test func `threads have the names that they may have in a file`() async {
        await #expect(processExitsWith: .success) {
            _ = Daemon(socket: "s", threads: ["mail": 2, "Front-desk_1.b": 1])
        }
        // Else two threads would be called mail/1.
        await #expect(processExitsWith: .failure) {
            _ = Daemon(socket: "s", threads: ["mail": 2, "mail/1": 1])
        }
        await #expect(processExitsWith: .failure) {
            _ = Daemon(socket: "s", threads: ["io": 1])
        }
    }
}
