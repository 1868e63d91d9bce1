// A mode's descriptors as one epoll instance. The only file that knows epoll.

internal import CLinux
internal import Glibc

/// The descriptors of one mode in an epoll instance, level-triggered.
///
/// Level-triggered because an event must wait while another mode runs: the kernel reports it
/// again for as long as it is true.
///
/// - Source: epoll(7), epoll_ctl(2), epoll_pwait2(2), epoll_wait(2).
@safe package final class EpollSet: PollSet {
    private let epoll: Descriptor
    /// Where the kernel writes what is ready; only `wait` looks at it, on the loop's thread.
    private let events: UnsafeMutableBufferPointer<epoll_event>

    /// The token of the doorbell; tokens of descriptors are never this number.
    private static let doorbellToken = UInt64.max
    /// Events taken at a time: a page of them; what does not fit is reported by the next call.
    private static let batchCount = 256

    init() throws(SystemError) {
        let number = try retrying("epoll_create1", { epoll_create1(CInt(EPOLL_CLOEXEC)) })
        epoll = try Descriptor(owning: number).movedAboveStandardStreams()
        unsafe events = .allocate(capacity: Self.batchCount)
        unsafe events.initialize(repeating: epoll_event())
    }

    deinit {
        unsafe events.deallocate()
    }

    func addDoorbell(_ number: CInt) throws(SystemError) {
        try control(
            EPOLL_CTL_ADD, number, EPOLLIN.rawValue | EPOLLET.rawValue, Self.doorbellToken)
    }

    package func add(
        _ descriptor: CInt, for interest: Readiness, token: UInt64
    ) throws(SystemError) {
        require(token != Self.doorbellToken, "this token is the doorbell's")
        try control(EPOLL_CTL_ADD, descriptor, Self.mask(interest), token)
    }

    package func change(
        _ descriptor: CInt, for interest: Readiness, token: UInt64
    ) throws(SystemError) {
        try control(EPOLL_CTL_MOD, descriptor, Self.mask(interest), token)
    }

    package func remove(_ descriptor: CInt) {
        // ENOENT or EBADF: the owner closed the descriptor first, and epoll forgot it by itself.
        var event = unsafe epoll_event()
        _ = unsafe epoll_ctl(epoll.number, EPOLL_CTL_DEL, descriptor, &event)
    }

    /// Waits at most so long (negative: without end) and appends what is ready.
    ///
    /// - Returns: how many were appended; the doorbell is not counted.
    @discardableResult
    func wait(nanoseconds: Int64, ready: inout [ReadyEvent]) -> Int {
        let count = nanoseconds > 0 ? waitFinely(nanoseconds) : waitCoarsely(nanoseconds)
        guard count >= 0 else {
            // EINTR is the only failure that is not a mistake of this program.
            require(errno == EINTR, "epoll_wait failed with errno \(errno)")
            return 0
        }
        var appended = 0
        for index in 0..<Int(count) {
            let event = unsafe events[index]
            let token = unsafe event.data.u64
            if token == Self.doorbellToken { continue }
            ready.append(ReadyEvent(token: token, readiness: unsafe Self.readiness(event.events)))
            appended += 1
        }
        return appended
    }

    /// Waits with a time limit in nanoseconds, which kernels before 5.11 (and valgrind) don't know,
    /// and which the call filters of containers refuse that are older than it (EPERM).
    private func waitFinely(_ nanoseconds: Int64) -> CInt {
        var timeout = timespec(
            tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        let count = unsafe epoll_pwait2(
            epoll.number, events.baseAddress, CInt(Self.batchCount), &timeout, nil)
        let isMissing = count < 0 && (errno == ENOSYS || errno == EPERM)
        return isMissing ? waitCoarsely(nanoseconds) : count
    }

    /// Waits with a time limit in milliseconds, rounded up so that nothing due is early.
    private func waitCoarsely(_ nanoseconds: Int64) -> CInt {
        let longest = Int64(CInt.max) * 1_000_000
        let milliseconds = nanoseconds < 0 ? -1 : (min(nanoseconds, longest) + 999_999) / 1_000_000
        return unsafe epoll_wait(
            epoll.number, events.baseAddress, CInt(Self.batchCount),
            CInt(truncatingIfNeeded: milliseconds))
    }

    private func control(
        _ operation: CInt, _ descriptor: CInt, _ mask: UInt32, _ token: UInt64
    ) throws(SystemError) {
        var event = unsafe epoll_event()
        unsafe event.events = mask
        unsafe event.data.u64 = token
        let result = unsafe epoll_ctl(epoll.number, operation, descriptor, &event)
        guard result == 0 else {
            require(errno != EINVAL, "epoll_ctl: a set can't watch itself")
            throw SystemError.last("epoll_ctl descriptor \(descriptor)")
        }
    }

    private static func mask(_ interest: Readiness) -> UInt32 {
        var mask: UInt32 = 0
        if interest.contains(.readable) { mask |= EPOLLIN.rawValue | EPOLLRDHUP.rawValue }
        if interest.contains(.writable) { mask |= EPOLLOUT.rawValue }
        if interest.contains(.urgent) { mask |= EPOLLPRI.rawValue }
        return mask
    }

    private static func readiness(_ mask: UInt32) -> Readiness {
        var readiness: Readiness = []
        if mask & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 { readiness.insert(.readable) }
        if mask & EPOLLOUT.rawValue != 0 { readiness.insert(.writable) }
        if mask & EPOLLPRI.rawValue != 0 { readiness.insert(.urgent) }
        if mask & (EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 { readiness.insert(.closed) }
        return readiness
    }
}
