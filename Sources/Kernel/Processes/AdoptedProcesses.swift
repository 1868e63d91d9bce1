// Adopted processes: the first process of a container becomes the parent of processes that have
// lost their own. No other process collects them, and until then each keeps its number and counts
// against the container's limit of processes.

internal import CLinux
internal import Glibc

/// The processes that this one has not started and is the parent of all the same.
package enum AdoptedProcesses {
    /// Whether there can be any: whether this is the first process of a container.
    ///
    /// - Thread: any.
    package static var areExpected: Bool { getpid() == 1 }

    /// Collects those that have ended.
    ///
    /// A `ChildProcess` is none of them: it leads a group of its own, in this process's session.
    ///
    /// - Returns: how many.
    /// - Throws: ENOENT where there is no `/proc`; EMFILE.
    /// - Thread: any.
    /// - Blocks: never for long.
    /// - Complexity: O(processes).
    /// - Source: proc(5), `/proc/PID/stat`; pid_namespaces(7).
    @discardableResult
    package static func collectEnded() throws(SystemError) -> Int {
        let (own, session) = (getpid(), getsid(0))
        var count = 0
        for name in try Directory.names(in: "/proc") {
            guard let processID = pid_t(name), let place = Place(of: processID),
                place.hasEnded, place.parent == own,
                place.group != processID || place.session != session
            else { continue }
            if waitpid(processID, nil, WNOHANG) == processID { count += 1 }
        }
        return count
    }

    /// Where a process stands among others.
    private struct Place {
        let hasEnded: Bool
        let parent: pid_t
        let group: pid_t
        let session: pid_t

        /// - Returns: nil if there is no such process.
        init?(of processID: pid_t) {
            guard let bytes = try? File.read("/proc/\(processID)/stat", atMost: 4096),
                // The program's name is in parentheses, and may have some itself.
                let end = bytes.lastIndex(of: UInt8(ascii: ")"))
            else { return nil }
            let words = bytes[(end + 1)...].split(separator: UInt8(ascii: " "))
                .map { String(decoding: $0, as: UTF8.self) }
            guard words.count > 3, let parent = pid_t(words[1]), let group = pid_t(words[2]),
                let session = pid_t(words[3])
            else { return nil }
            hasEnded = words[0] == "Z"
            (self.parent, self.group, self.session) = (parent, group, session)
        }
    }
}
