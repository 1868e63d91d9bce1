// Sleeping and waking with the real kernel: on a futex while there is no descriptor to watch, in
// epoll otherwise. Knows nothing of run loops.
//
// Values of the word:
//   0 awake     the loop runs and will look at everything before it sleeps   written by the loop
//   1 woken     a waker woke it; the loop has not noticed yet                written by wakers
//   2 parked    the loop sleeps on this word as a futex, or is about to      written by the loop
//   3 polling   the loop sleeps in epoll_wait, or is about to                written by the loop
//
// All operations on the word are sequentially consistent.
//
// SystemPoller.E1 no lost wake
//    waker: publish work, word.exchange(1) │ loop: word.cas(0→2|3), then sleep
//    Either the exchange comes first: then the cas fails and the loop does not sleep. Or the cas
//    comes first: then the waker sees 2 or 3 and makes the system call.
// SystemPoller.E2 the work is seen
//    waker: publish work ─▶ word.exchange(1) ─▶ loop: word.exchange(0) reads 1
//    release ─▶ acquire: what was published before the wake is visible after the sleep.
// SystemPoller.E3 a wake is pending already
//    waker: word.load sees 1 and returns without writing
//    The loop's exchange(0) that takes that 1 comes later in the order of all operations than the
//    load, and the loop looks for work only after it: that look sees the work.
// SystemPoller.E4 a late doorbell
//    waker: exchange(1) saw 3, then eventfd write │ loop: back already for another reason, word 0
//    or 3 again
//    The write then ends the next epoll_wait with word still 3: it is stale, and the loop goes back
//    to sleep. The event is edge-triggered, so the counter never has to be read.
//
// The futex compares the word itself, so a wake between cas(0→2) and FUTEX_WAIT ends that wait at
// once.

internal import CLinux
internal import Glibc
internal import Synchronization

/// The kernel's waiting for one run loop.
///
/// Without descriptors it costs no descriptor: the futex is four bytes of memory. The first set
/// brings an eventfd as its doorbell.
///
/// - Source: futex(2), epoll(7), eventfd(2).
package final class SystemPoller: Poller {
    package let clock: any LoopClock
    /// The clock's own answer, asked once: each sleep wants to know.
    private let runsByItself: Bool
    private let word = Atomic<UInt32>(Word.awake)
    /// The doorbell's number, or -1; written once by the loop, before the word can be 3.
    private let doorbellNumber = Atomic<CInt>(-1)

    private let spin: IdleSpin

    private enum Word {
        static let awake: UInt32 = 0
        static let woken: UInt32 = 1
        static let parked: UInt32 = 2
        static let polling: UInt32 = 3
    }

    /// - Parameters:
    ///   - clock: by which deadlines are meant.
    ///   - spin: how long a wait without descriptors may look for a wake before it sleeps; with a
    ///     clock that is moved by hand it does not.
    package init(
        clock: any LoopClock = SystemClock(), spin: consuming IdleSpin = IdleSpin()
    ) {
        self.clock = clock
        runsByItself = clock.runsByItself
        self.spin = spin
        if !runsByItself {
            clock.whenMoved { [weak self] in self?.wake() }
        }
    }

    deinit {
        let number = doorbellNumber.load(ordering: .acquiring)
        if number >= 0 { _ = Glibc.close(number) }
    }

    package var now: Instant { clock.now() }

    package func makeSet() throws(SystemError) -> any PollSet {
        let set = try EpollSet()
        var doorbell = doorbellNumber.load(ordering: .acquiring)
        if doorbell < 0 {
            let number = try retrying(
                "eventfd", { eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK)) })
            doorbell = try Descriptor(owning: number).movedAboveStandardStreams().giveAway()
            doorbellNumber.store(doorbell, ordering: .releasing)
        }
        try set.addDoorbell(doorbell)
        return set
    }

    @discardableResult
    package func wait(
        on set: (any PollSet)?, until deadline: Instant, ready: inout [ReadyEvent]
    ) -> Bool {
        // Before the word says "asleep": a clock that is moved from now on wakes the loop.
        if !runsByItself && deadline <= clock.now() {
            takeWake()
            check(set, ready: &ready)
            return false
        }
        if spin.isOn, set == nil, runsByItself { return spinThenPark(until: deadline) }
        return sleep(on: set, until: deadline, ready: &ready)
    }

    /// Waits without descriptors: awake while that pays, then asleep.
    private func spinThenPark(until deadline: Instant) -> Bool {
        let begin = clock.now()
        let end = min(begin.advanced(byNanoseconds: spin.length), deadline)
        // A wake that is seen here is taken below: SystemPoller.E1 is the same whenever the waker
        // came.
        while word.load(ordering: .relaxed) != Word.woken, clock.now() < end { clinux_relax() }
        var none: [ReadyEvent] = []
        let wasWoken = sleep(on: nil, until: deadline, ready: &none)
        spin.note(gap: begin.duration(to: clock.now()).nanosecondsClamped)
        return wasWoken
    }

    private func sleep(
        on set: (any PollSet)?, until deadline: Instant, ready: inout [ReadyEvent]
    ) -> Bool {
        let sleeping = set == nil ? Word.parked : Word.polling
        // SystemPoller.E1
        let (slept, _) = word.compareExchange(
            expected: Word.awake, desired: sleeping, ordering: .sequentiallyConsistent)
        guard slept else {
            takeWake()
            check(set, ready: &ready)
            return true
        }
        // A clock that is moved by hand wakes the loop itself.
        let limit = runsByItself ? deadline : .distantFuture
        if let set = set as? EpollSet {
            _blockingWaitForWork(polling: set, until: limit, ready: &ready)
        } else {
            _blockingWaitForWork(parkedUntil: limit)
        }
        // SystemPoller.E2
        return word.exchange(Word.awake, ordering: .sequentiallyConsistent) == Word.woken
    }

    package func takeWake() {
        if word.load(ordering: .sequentiallyConsistent) == Word.woken {
            _ = word.exchange(Word.awake, ordering: .sequentiallyConsistent)  // SystemPoller.E2
        }
    }

    package func check(_ set: (any PollSet)?, ready: inout [ReadyEvent]) {
        if let set = set as? EpollSet { set.wait(nanoseconds: 0, ready: &ready) }
    }

    package func wake() {
        if word.load(ordering: .sequentiallyConsistent) == Word.woken { return }  // SystemPoller.E3
        // SystemPoller.E1, SystemPoller.E2
        switch word.exchange(Word.woken, ordering: .sequentiallyConsistent) {
        case Word.parked:
            word.wakeSleepers(1)
        case Word.polling:
            ring()
        default:
            break
        }
    }

    /// Rings the doorbell.
    ///
    /// Traps if other code has closed it by mistake, once too often or with all descriptors that it
    /// did not know: the loop would sleep for ever, without a reason to be seen.
    private func ring() {
        var one: UInt64 = 1
        while unsafe Glibc.write(doorbellNumber.load(ordering: .acquiring), &one, 8) < 0 {
            // The counter is full: it rings already.
            if errno == EAGAIN { return }
            require(
                errno == EINTR,
                "a run loop can't be woken (errno \(errno)): was its descriptor closed by somebody "
                    + "else?")
        }
    }

    package var isAsleep: Bool {
        word.load(ordering: .sequentiallyConsistent) >= Word.parked
    }

    /// Sleeps on the futex until the word is no longer `parked`, or the deadline passes.
    ///
    /// Profilers subtract idle time by this name: it is never changed nor inlined.
    @inline(never)
    private func _blockingWaitForWork(parkedUntil deadline: Instant) {
        while word.load(ordering: .sequentiallyConsistent) == Word.parked {
            guard word.sleep(while: Word.parked, until: deadline) else { return }
        }
    }

    /// Sleeps in epoll until something is ready, the word is no longer `polling`, or the deadline.
    @inline(never)
    private func _blockingWaitForWork(
        polling set: EpollSet, until deadline: Instant, ready: inout [ReadyEvent]
    ) {
        while true {
            var remaining: Int64 = -1
            if deadline != .distantFuture {
                remaining = max(0, clock.now().duration(to: deadline).nanosecondsClamped)
            }
            let count = set.wait(nanoseconds: remaining, ready: &ready)
            if count > 0 || word.load(ordering: .sequentiallyConsistent) != Word.polling { return }
            if deadline != .distantFuture && clock.now() >= deadline { return }
            // SystemPoller.E4: a stale doorbell or a signal; the deadline has not passed.
        }
    }
}
