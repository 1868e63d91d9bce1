// A poller that plays the kernel: while the loop sleeps, the test's script happens, and time moves
// to whatever comes next. Everything on one thread, in a known order, without sleeping.

package import Kernel
internal import Synchronization

/// A poller whose sleeps are a script.
///
/// Asleep, it does the script's next step whose time has come, until one wakes the loop or makes a
/// descriptor ready; or it moves the clock to the next step or to the loop's deadline, whichever
/// comes first. A sleep that nothing could ever end is a fault of the test and traps.
package final class ScriptedPoller: Poller, @unchecked Sendable {
    // SAFETY: all but `wakePending` is touched on the loop's thread only, where the script runs too.

    package let manualClock = ManualClock()
    package var clock: any LoopClock { manualClock }
    private var steps: [(time: Instant, action: () -> Void)] = []
    private var readiness: [CInt: Readiness] = [:]
    private let wakePending = Atomic<Bool>(false)
    private let sleeping = Atomic<Bool>(false)

    package init() {}

    /// Adds a step: what happens at a time since the start, while the loop sleeps.
    package func at(_ time: Duration, _ action: @escaping () -> Void) {
        steps.append((Instant(nanoseconds: 0).advanced(by: time), action))
        steps.sort { $0.time < $1.time }
    }

    /// Adds a step that happens as soon as the loop sleeps.
    package func whileAsleep(_ action: @escaping () -> Void) {
        at(.zero, action)
    }

    /// Makes a descriptor ready, or silent again with an empty readiness.
    package func setReady(_ descriptor: CInt, _ ready: Readiness) {
        readiness[descriptor] = ready.isEmpty ? nil : ready
    }

    package func makeSet() throws(SystemError) -> any PollSet { ScriptedSet() }

    package func wait(on set: (any PollSet)?, until deadline: Instant, ready: inout [ReadyEvent]) {
        sleeping.store(true, ordering: .relaxed)
        defer { sleeping.store(false, ordering: .relaxed) }
        while true {
            check(set, ready: &ready)
            let woken = wakePending.exchange(false, ordering: .acquiringAndReleasing)
            if woken || !ready.isEmpty || deadline <= manualClock.now() { return }
            if let step = steps.first, step.time <= deadline {
                steps.removeFirst()
                manualClock.move(to: step.time)
                step.action()
                continue
            }
            precondition(deadline != .distantFuture, "the loop sleeps and the script has ended")
            manualClock.move(to: deadline)
        }
    }

    package func takeWake() {
        wakePending.store(false, ordering: .releasing)
    }

    package func check(_ set: (any PollSet)?, ready: inout [ReadyEvent]) {
        guard let set = set as? ScriptedSet else { return }
        for (descriptor, watched) in set.watched.sorted(by: { $0.key < $1.key }) {
            guard let state = readiness[descriptor] else { continue }
            let matching = state.intersection(watched.interest.union(.closed))
            if !matching.isEmpty {
                ready.append(ReadyEvent(token: watched.token, readiness: matching))
            }
        }
    }

    package func wake() {
        wakePending.store(true, ordering: .releasing)
    }

    package var isAsleep: Bool { sleeping.load(ordering: .relaxed) }
}

/// The descriptors that a scripted mode watches.
private final class ScriptedSet: PollSet {
    private(set) var watched: [CInt: (interest: Readiness, token: UInt64)] = [:]

    func add(_ descriptor: CInt, for interest: Readiness, token: UInt64) throws(SystemError) {
        guard watched[descriptor] == nil else {
            throw SystemError(operation: "epoll_ctl descriptor \(descriptor)", errno: 17)
        }
        watched[descriptor] = (interest, token)
    }

    func change(_ descriptor: CInt, for interest: Readiness, token: UInt64) throws(SystemError) {
        watched[descriptor] = (interest, token)
    }

    func remove(_ descriptor: CInt) {
        watched[descriptor] = nil
    }
}
