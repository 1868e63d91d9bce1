// The seam between a run loop and the kernel's waiting: what the loop asks for, answered by
// `SystemPoller` (futex and epoll) and, in tests, by a scripted poller that plays the kernel.

/// The conditions that a descriptor is watched for.
public struct Readiness: OptionSet, Sendable, Hashable, CustomStringConvertible {
    /// The bits.
    public let rawValue: UInt8

    /// A set of the given bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Bytes, a connection or an end of file can be read.
    public static let readable = Readiness(rawValue: 1)
    /// Bytes can be written.
    public static let writable = Readiness(rawValue: 2)
    /// The other side is gone or the descriptor is broken; reported whether asked for or not.
    ///
    /// A read then gives the earlier bytes and the end of file, a write fails with EPIPE:
    /// a port that is interested in reading or in writing is told that too.
    public static let closed = Readiness(rawValue: 4)
    /// Something out of the ordinary, EPOLLPRI: a connection's urgent byte, a change of a
    /// pseudoterminal's master in packet mode, an edge of a pin or another attribute in `/sys`
    /// (which reports `closed` with it), a stall that a monitor in `/proc/pressure` was set to tell
    /// of.
    ///
    /// - Source: poll(2), POLLPRI.
    public static let urgent = Readiness(rawValue: 8)

    /// The names, joined by "+"; "nothing" for none.
    public var description: String {
        let names: [(Readiness, String)] = [
            (.readable, "readable"), (.writable, "writable"), (.closed, "closed"),
            (.urgent, "urgent"),
        ]
        let mine = names.filter { contains($0.0) }.map(\.1)
        return mine.isEmpty ? "nothing" : mine.joined(separator: "+")
    }
}

/// One descriptor that turned out ready: the token it was added with, and for what.
package struct ReadyEvent: Sendable, Equatable {
    package let token: UInt64
    package let readiness: Readiness

    package init(token: UInt64, readiness: Readiness) {
        self.token = token
        self.readiness = readiness
    }
}

/// The descriptors of one mode, watched together.
///
/// - Thread: the loop's own thread only.
package protocol PollSet: AnyObject {
    /// Watches `descriptor`; what happens on it is reported with `token`.
    ///
    /// - Throws: EEXIST when it is watched in this set already, EPERM when the kernel can't watch
    ///   its kind (a regular file), ENOSPC and ENOMEM when the kernel has no room.
    func add(_ descriptor: CInt, for interest: Readiness, token: UInt64) throws(SystemError)

    /// Changes what a watched descriptor is watched for; an empty interest keeps it, silent.
    func change(_ descriptor: CInt, for interest: Readiness, token: UInt64) throws(SystemError)

    /// Stops watching; harmless when the descriptor was closed before.
    func remove(_ descriptor: CInt)
}

/// Sleeps for a run loop, and is woken from any thread.
///
/// A wake is sticky: sent while the loop is awake, it ends the next wait at once, or is taken by
/// the next `takeWake`. Several wakes before that count as one.
package protocol Poller: AnyObject, Sendable {
    /// The clock by which deadlines are meant.
    var clock: any LoopClock { get }

    /// Now, by that clock; asked so often that the clock is not to be copied for it.
    var now: Instant { get }

    /// Makes an empty set of descriptors.
    ///
    /// - Thread: the loop's own thread.
    /// - Throws: EMFILE, ENFILE or ENOMEM from the kernel.
    func makeSet() throws(SystemError) -> any PollSet

    /// Sleeps until woken, until a descriptor of `set` is ready, or until `deadline`.
    ///
    /// - Parameters:
    ///   - set: nil when the mode watches no descriptor: then nothing but a wake ends the sleep.
    ///   - deadline: `.distantFuture` never passes.
    ///   - ready: gets what is ready appended.
    /// - Returns: whether a wake ended it.
    /// - Thread: the loop's own thread.
    /// - Blocks: yes, that is its purpose.
    @discardableResult
    func wait(
        on set: (any PollSet)?, until deadline: Instant, ready: inout [ReadyEvent]
    ) -> Bool

    /// Forgets a wake that is pending.
    ///
    /// - Thread: the loop's own thread, before it looks for work once more.
    func takeWake()

    /// Appends what is ready now, without sleeping; a pending wake stays pending.
    ///
    /// - Thread: the loop's own thread.
    func check(_ set: (any PollSet)?, ready: inout [ReadyEvent])

    /// Ends the current wait, or the next one if none is under way.
    ///
    /// - Thread: any thread, also a signal handler.
    /// - Blocks: never; costs a system call only when the loop sleeps.
    func wake()

    /// Whether the loop is asleep at this moment; it may not be by the time the answer arrives.
    var isAsleep: Bool { get }
}
