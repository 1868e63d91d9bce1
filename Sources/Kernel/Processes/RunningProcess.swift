// Processes that are not this one's children, by what was in their environment when they were started.

internal import CLinux
internal import Glibc

/// A process that runs, or has ended since it was found: it is never mistaken for another one.
package struct RunningProcess: ~Copyable {
    package let processID: Int
    /// Becomes readable when the process ends.
    private let descriptor: Descriptor

    /// More than the kernel lets a program be started with, unless its stack is unlimited.
    private static let environmentByteCountMax = 4 << 20

    /// Calls `body` with each process, but this one, that was started with an environment variable, and
    /// with that variable's value.
    ///
    /// Processes whose environment this user may not read are passed over, and so are those that start
    /// or end meanwhile.
    ///
    /// - Throws: ENOENT where there is no `/proc`; EMFILE.
    /// - Thread: any.
    /// - Blocks: never for long.
    /// - Complexity: O(processes).
    /// - Source: proc(5), `/proc/PID/environ`.
    package static func forEach(
        with variable: String, _ body: (borrowing RunningProcess, _ value: String) -> Void
    ) throws(SystemError) {
        for name in try Directory.names(in: "/proc") {
            guard let processID = pid_t(name), processID != getpid() else { continue }
            // First, so that what is read is of the process that will be signalled, or of nobody.
            guard let process = RunningProcess(processID), let value = process.value(of: variable)
            else { continue }
            body(process, value)
        }
    }

    private init?(_ processID: pid_t) {
        let number = clinux_pidfd_open(processID)
        guard number >= 0 else { return nil }
        self.processID = Int(processID)
        descriptor = Descriptor(owning: number)
    }

    private borrowing func value(of variable: String) -> String? {
        let path = "/proc/\(processID)/environ"
        let bytes = try? File.read(path, atMost: Self.environmentByteCountMax)
        let beginning = Array("\(variable)=".utf8)
        return bytes?.split(separator: 0).first { $0.starts(with: beginning) }
            .map { String(decoding: $0.dropFirst(beginning.count), as: UTF8.self) }
    }

    /// The session that a process belongs to, which it leaves by setsid only; nil when it has ended.
    ///
    /// - Parameter processID: 0 is this process.
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: getsid(2).
    package static func session(of processID: Int) -> Int? {
        let session = getsid(pid_t(processID))
        return session < 0 ? nil : Int(session)
    }

    /// Kills the process, and waits until it is gone.
    ///
    /// - Returns: whether it is; only a broken device or another user keeps it.
    /// - Thread: any.
    /// - Blocks: up to the time given.
    /// - Source: pidfd_send_signal(2).
    package borrowing func kill(timeoutMilliseconds: Int) -> Bool {
        let result = clinux_pidfd_send_signal(descriptor.number, SIGKILL)
        if result < 0 { return result == -ESRCH }
        let isGone = try? waitUntilReady(
            descriptor.number, for: CShort(POLLIN), timeoutMilliseconds: CInt(timeoutMilliseconds))
        return isGone == true
    }
}
