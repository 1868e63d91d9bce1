// Limits of the kernel on the resources of a process.

internal import CLinux
internal import Glibc

/// A limit that the kernel keeps for a process.
package enum ResourceLimit: Sendable, CaseIterable {
    /// Bytes of address space; what exceeds it cannot be allocated.
    case addressSpaceBytes
    /// Seconds of computing; what exceeds it is killed with SIGXCPU, then SIGKILL.
    case cpuSeconds
    /// Bytes of a core file; 0 writes none.
    case coreFileBytes
    /// Open descriptors.
    case openDescriptors
    /// Bytes of a thread's stack, unless it is made with a size of its own.
    case stackBytes

    private var number: CInt {
        switch self {
        case .addressSpaceBytes: return CInt(RLIMIT_AS.rawValue)
        case .cpuSeconds: return CInt(RLIMIT_CPU.rawValue)
        case .coreFileBytes: return CInt(RLIMIT_CORE.rawValue)
        case .openDescriptors: return CInt(RLIMIT_NOFILE.rawValue)
        case .stackBytes: return CInt(RLIMIT_STACK.rawValue)
        }
    }

    /// The limit in force for this process, and how far it may be raised.
    ///
    /// - Throws: nothing that a correct program meets.
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: prlimit(2).
    package func current() throws(SystemError) -> (soft: UInt64, hard: UInt64) {
        let limit = try exchange(nil, ofProcess: 0)
        return (UInt64(limit.rlim_cur), UInt64(limit.rlim_max))
    }

    /// Lets this process open as many descriptors as it may at all.
    ///
    /// Children inherit it, and some old programs walk through all numbers or cannot deal with
    /// those above 1,023: give them the limit returned here (`ChildCommand.limits`).
    ///
    /// - Returns: the limit before and the limit now.
    /// - Throws: nothing that a correct program meets.
    /// - Thread: any; it is for the whole process.
    /// - Blocks: never.
    package static func raiseOpenDescriptors() throws(SystemError) -> (
        before: UInt64, now: UInt64
    ) {
        let limit = try openDescriptors.current()
        if limit.soft < limit.hard {
            let raised = rlimit(rlim_cur: rlim_t(limit.hard), rlim_max: rlim_t(limit.hard))
            try openDescriptors.exchange(raised, ofProcess: 0)
        }
        return (limit.soft, limit.hard)
    }

    /// Sets the limit of a child that is not reaped; as much as is allowed at all if that is less.
    ///
    /// A program may raise its number of open descriptors again, as those that need many do; the
    /// other limits are final.
    func set(_ value: UInt64, ofProcess processID: pid_t) throws(SystemError) {
        do throws(SystemError) {
            let hard = try exchange(nil, ofProcess: processID).rlim_max
            let soft = min(rlim_t(value), hard)
            let isFinal = self != .openDescriptors
            try exchange(
                rlimit(rlim_cur: soft, rlim_max: isFinal ? soft : hard), ofProcess: processID)
        } catch {
            // It has ended already: nothing is left to limit.
            if error.errno != ESRCH { throw error }
        }
    }

    @discardableResult
    private func exchange(
        _ new: rlimit?, ofProcess processID: pid_t
    ) throws(SystemError) -> rlimit {
        var old = rlimit()
        if var new {
            try retrying("prlimit") { unsafe prlimit(processID, number, &new, &old) }
        } else {
            try retrying("prlimit") { unsafe prlimit(processID, number, nil, &old) }
        }
        return old
    }
}
