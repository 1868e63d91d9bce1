// Processes that are not this one's children, and what they can be known by.

internal import CLinux
internal import Glibc

/// A process that runs, or has ended since it was found: it is never mistaken for another one.
package struct RunningProcess: ~Copyable {
    package let processID: Int
    /// Becomes readable when the process ends.
    private let descriptor: Descriptor

    /// More than the kernel lets a program be started with, unless its stack is unlimited.
    private static let environmentByteCountMax = 4 << 20
    /// The kernel's prefix of the label of a file in memory.
    private static let inMemoryPrefix = "/memfd:"
    private static let inMemorySuffix = " (deleted)"

    /// Calls `body` with each process but this one.
    ///
    /// Those that start or end meanwhile may be passed over.
    ///
    /// - Throws: ENOENT where there is no `/proc`; EMFILE.
    /// - Thread: any.
    /// - Blocks: never for long.
    /// - Complexity: O(processes).
    /// - Source: proc(5).
    package static func forEach(
        _ body: (borrowing RunningProcess) -> Void
    ) throws(SystemError) {
        for name in try Directory.names(in: "/proc") {
            guard let processID = pid_t(name), processID != getpid() else { continue }
            // First, so that what is read is of the process that will be signalled, or of none.
            if let process = RunningProcess(processID) { body(process) }
        }
    }

    private init?(_ processID: pid_t) {
        let number = clinux_pidfd_open(processID)
        guard number >= 0 else { return nil }
        self.processID = Int(processID)
        descriptor = Descriptor(owning: number)
    }

    /// The value of an environment variable that the process was started with; nil if there was
    /// none, and if this user may not know.
    ///
    /// - Thread: any.
    /// - Blocks: never for long.
    /// - Source: proc(5), `/proc/PID/environ`.
    package borrowing func value(of variable: String) -> String? {
        let path = "/proc/\(processID)/environ"
        let bytes = try? File.read(path, atMost: Self.environmentByteCountMax)
        let beginning = Array("\(variable)=".utf8)
        return bytes?.split(separator: 0).first { $0.starts(with: beginning) }
            .map { String(decoding: $0.dropFirst(beginning.count), as: UTF8.self) }
    }

    /// The label of the file in memory that is the standard input of the process (`File.inMemory`);
    /// nil if it has something else there, and if this user may not know.
    ///
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: proc(5), `/proc/PID/fd`.
    package var labelOfInput: String? {
        guard let target = File.target(ofLink: "/proc/\(processID)/fd/0"),
            target.hasPrefix(Self.inMemoryPrefix), target.hasSuffix(Self.inMemorySuffix)
        else { return nil }
        return String(
            target.dropFirst(Self.inMemoryPrefix.count).dropLast(Self.inMemorySuffix.count))
    }

    /// The group that the process belongs to; nil when it has ended.
    ///
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: getpgid(2).
    package var group: Int? {
        let group = getpgid(pid_t(processID))
        return group < 0 ? nil : Int(group)
    }

    /// The session that a process belongs to, which it leaves by setsid only; nil when it has
    /// ended.
    ///
    /// - Parameter processID: 0 is this process.
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: getsid(2).
    package static func session(of processID: Int) -> Int? {
        let session = getsid(pid_t(processID))
        return session < 0 ? nil : Int(session)
    }

    /// The identifier of this start of the machine; nil where `/proc` does not tell.
    static let bootID = try? File.read("/proc/sys/kernel/random/boot_id", atMost: 64)

    /// A number that tells processes of one process number apart, also across starts of the
    /// machine; nil if there is no such process, or this user may not know.
    ///
    /// - Thread: any.
    /// - Blocks: never for long.
    /// - Source: proc(5), `/proc/PID/stat`, starttime; random(4), `boot_id`.
    package static func birth(of processID: Int) -> UInt64? {
        guard let bootID, let stat = try? File.read("/proc/\(processID)/stat", atMost: 4_096),
            // The name before it is in parentheses, and may contain any byte.
            let nameEnd = stat.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        let fields = stat[nameEnd...].split(separator: UInt8(ascii: " "))
        // Field 22; the end of the name is field 2.
        guard fields.count > 20 else { return nil }
        // FNV-1a, as in ProgramMark's names: any spread does.
        return (bootID + fields[20]).reduce(0xCBF2_9CE4_8422_2325) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
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
