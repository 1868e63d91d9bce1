// Proves waiting on the real kernel: no wake is lost, no sleep ends early, descriptors are reported
// while they are ready. Each in all ways of sleeping: on a futex, at once or after a vain spin, and
// in epoll.

import CRefusals
import Glibc
import Kernel
import RunLoopsTesting
import Support
import Testing

/// The way in which a poller sleeps.
enum Sleep: CaseIterable, Sendable {
    case futex, spinThenFutex, epoll

    func poller(_ clock: any LoopClock = SystemClock()) -> SystemPoller {
        let limit = self == .spinThenFutex ? Duration.microseconds(200) : .zero
        return SystemPoller(clock: clock, spin: IdleSpin(limit: limit, processorCount: 2))
    }

    func set(of poller: SystemPoller) throws -> (any PollSet)? {
        self == .epoll ? try poller.makeSet() : nil
    }
}

/// The events after a wait.
private func wait(
    _ poller: SystemPoller, _ set: (any PollSet)?, until deadline: Instant = .distantFuture
) -> [ReadyEvent] {
    var ready: [ReadyEvent] = []
    poller.wait(on: set, until: deadline, ready: &ready)
    return ready
}

/// The events without a wait.
private func check(_ poller: SystemPoller, _ set: (any PollSet)?) -> [ReadyEvent] {
    var ready: [ReadyEvent] = []
    poller.check(set, ready: &ready)
    return ready
}

@Suite(.timeLimit(.minutes(2)))
struct SystemPollerTests {
    @Test(arguments: Sleep.allCases)
    func `a wake sent before the wait is not lost`(sleep: Sleep) throws {
        let poller = sleep.poller()
        let set = try sleep.set(of: poller)
        for _ in 0..<3 {
            poller.wake()
            #expect(wait(poller, set).isEmpty)
        }
    }

    @Test(arguments: Sleep.allCases)
    func `a wake from another thread ends the sleep`(sleep: Sleep) throws {
        let poller = sleep.poller()
        let set = try sleep.set(of: poller)
        let waker = try TestThread(name: "waker") {
            while !poller.isAsleep {}
            poller.wake()
        }
        #expect(wait(poller, set).isEmpty)
        #expect(!poller.isAsleep)
        waker.join()
    }

    @Test(arguments: Sleep.allCases)
    func `work published before a wake is seen after the sleep, every time`(sleep: Sleep) throws {
        let poller = sleep.poller()
        let set = try sleep.set(of: poller)
        let published = Counter()
        let waker = try TestThread(name: "waker") {
            for _ in 0..<5_000 {
                published.increment()
                poller.wake()
            }
        }
        // A lost wake would leave this thread asleep with work published.
        while published.count < 5_000 { _ = wait(poller, set) }
        waker.join()
    }

    @Test(arguments: Sleep.allCases)
    func `a sleep without a wake ends at its deadline, not before`(sleep: Sleep) throws {
        let poller = sleep.poller()
        let set = try sleep.set(of: poller)
        for nanoseconds: Int64 in [1, 1_000, 1_500_000] {
            let deadline = poller.clock.now().advanced(byNanoseconds: nanoseconds)
            #expect(wait(poller, set, until: deadline).isEmpty)
            #expect(poller.clock.now() >= deadline)
        }
    }

    @Test(arguments: [ENOSYS, EPERM])
    func `a kernel or a filter that has no fine waiting is waited in coarsely`(
        refusal: CInt
    ) throws {
        let thread = try TestThread(name: "refused") {
            #expect(refusals_refuse(refusals_epoll_pwait2(), refusal) == 0)
            let poller = SystemPoller()
            let set = try? poller.makeSet()
            let deadline = poller.clock.now().advanced(byNanoseconds: 1_500_000)
            #expect(wait(poller, set, until: deadline).isEmpty)
            #expect(poller.clock.now() >= deadline)
        }
        thread.join()
    }

    @Test(arguments: Sleep.allCases)
    func `a deadline that has passed asks the kernel and comes back at once`(sleep: Sleep) throws {
        let poller = sleep.poller()
        let set = try sleep.set(of: poller)
        for deadline in [.distantPast, Instant(nanoseconds: -1), Instant(nanoseconds: 0)] {
            #expect(wait(poller, set, until: deadline).isEmpty)
        }
    }

    @Test(arguments: Sleep.allCases)
    func `several wakes are one, and taking a wake forgets it`(sleep: Sleep) throws {
        let poller = sleep.poller()
        let set = try sleep.set(of: poller)
        for _ in 0..<3 { poller.wake() }
        _ = wait(poller, set)
        expectUndisturbed(poller, set)
        poller.wake()
        poller.takeWake()
        expectUndisturbed(poller, set)
        poller.takeWake()
        expectUndisturbed(poller, set)
    }

    @Test(arguments: Sleep.allCases)
    func `a check leaves a wake pending`(sleep: Sleep) throws {
        let poller = sleep.poller()
        let set = try sleep.set(of: poller)
        poller.wake()
        #expect(check(poller, set).isEmpty)
        #expect(wait(poller, set).isEmpty)
    }

    @Test(arguments: Sleep.allCases)
    func `a clock that is moved by hand ends the sleep when it is moved`(sleep: Sleep) throws {
        let clock = ManualClock()
        let poller = sleep.poller(clock)
        let set = try sleep.set(of: poller)
        let mover = try TestThread(name: "mover") {
            while !poller.isAsleep {}
            clock.advance(by: .seconds(3_600))
        }
        #expect(wait(poller, set, until: Instant(nanoseconds: 1_000)).isEmpty)
        #expect(clock.elapsed == .seconds(3_600))
        mover.join()
    }

    @Test(.timeLimit(.minutes(2)), arguments: Sleep.allCases)
    func `a deadline that a clock moved by hand has passed already ends the sleep`(
        sleep: Sleep
    ) throws {
        let clock = ManualClock()
        let poller = sleep.poller(clock)
        let set = try sleep.set(of: poller)
        clock.advance(by: .seconds(1))
        poller.takeWake()
        #expect(wait(poller, set, until: clock.now()).isEmpty)
        #expect(wait(poller, set, until: .distantPast).isEmpty)
        #expect(!poller.isAsleep)
    }

    @Test func `who looks for a wake before it sleeps finds it without having slept`() throws {
        let poller = SystemPoller(spin: IdleSpin(limit: .seconds(3_600), processorCount: 2))
        // It spins once a wake has come in time.
        poller.wake()
        _ = wait(poller, nil)
        let sleeps = Counter()
        let waker = try TestThread(name: "waker") {
            for _ in 0..<100_000 where poller.isAsleep { sleeps.increment() }
            poller.wake()
        }
        #expect(wait(poller, nil).isEmpty)
        waker.join()
        #expect(sleeps.count == 0)
        expectUndisturbed(poller, nil)
    }

    @Test func `a doorbell that rang for one set does not disturb another`() throws {
        let poller = SystemPoller()
        let one = try poller.makeSet()
        let two = try poller.makeSet()
        let waker = try TestThread(name: "waker") {
            while !poller.isAsleep {}
            poller.wake()
        }
        _ = wait(poller, one)
        waker.join()
        // The doorbell is still ringing, and the second set has not reported it yet.
        expectUndisturbed(poller, two)
        expectUndisturbed(poller, try poller.makeSet())
        expectUndisturbed(poller, one)
    }

    @Test func `a poller can change between its two ways of sleeping`() throws {
        let poller = SystemPoller()
        let set = try poller.makeSet()
        for turn in 0..<200 {
            let waker = try TestThread(name: "waker") {
                while !poller.isAsleep {}
                poller.wake()
            }
            _ = wait(poller, turn % 2 == 0 ? nil : set)
            waker.join()
        }
    }

    /// Expects that a short sleep lasts until its deadline.
    private func expectUndisturbed(_ poller: SystemPoller, _ set: (any PollSet)?) {
        let deadline = poller.clock.now().advanced(by: .milliseconds(1))
        #expect(wait(poller, set, until: deadline).isEmpty)
        #expect(poller.clock.now() >= deadline)
    }
}

@Suite(.timeLimit(.minutes(2)))
struct SystemPollerDescriptorTests {
    @Test func `a descriptor is reported for as long as it is ready, with its token`() throws {
        let poller = SystemPoller()
        let set = try poller.makeSet()
        let pipe = try Pipe()
        try set.add(pipe.readEnd.number, for: .readable, token: 7)
        #expect(check(poller, set).isEmpty)
        _ = try pipe.writeEnd.write(contentsOf: [1])
        let event = ReadyEvent(token: 7, readiness: .readable)
        #expect(wait(poller, set) == [event])
        #expect(wait(poller, set) == [event])
        #expect(check(poller, set) == [event])
        var bytes: [UInt8] = []
        _ = try pipe.readEnd.read(appendingTo: &bytes, atMost: 10)
        #expect(check(poller, set).isEmpty)
    }

    @Test func `becoming ready ends the sleep`() throws {
        let poller = SystemPoller()
        let set = try poller.makeSet()
        let pipe = try Pipe()
        try set.add(pipe.readEnd.number, for: .readable, token: 1)
        let number = pipe.writeEnd.number
        let writer = try TestThread(name: "writer") {
            while !poller.isAsleep {}
            var byte: UInt8 = 1
            _ = unsafe write(number, &byte, 1)
        }
        #expect(wait(poller, set) == [ReadyEvent(token: 1, readiness: .readable)])
        writer.join()
    }

    @Test func `what is watched can be changed, silenced and ended`() throws {
        let poller = SystemPoller()
        let set = try poller.makeSet()
        let pipe = try Pipe()
        try set.add(pipe.writeEnd.number, for: .readable, token: 1)
        #expect(check(poller, set).isEmpty)
        try set.change(pipe.writeEnd.number, for: .writable, token: 2)
        #expect(check(poller, set) == [ReadyEvent(token: 2, readiness: .writable)])
        try set.change(pipe.writeEnd.number, for: [], token: 2)
        #expect(check(poller, set).isEmpty)
        try set.change(pipe.writeEnd.number, for: .writable, token: 3)
        set.remove(pipe.writeEnd.number)
        set.remove(pipe.writeEnd.number)
        #expect(check(poller, set).isEmpty)
        try set.add(pipe.writeEnd.number, for: .writable, token: 4)
        #expect(check(poller, set).map(\.token) == [4])
    }

    @Test func `a hang-up is reported even to who asked for nothing`() throws {
        let poller = SystemPoller()
        let set = try poller.makeSet()
        let pipe = try Pipe()
        let number = pipe.readEnd.number
        try set.add(number, for: [], token: 1)
        let readEnd = pipe.keepReadEnd()
        #expect(wait(poller, set) == [ReadyEvent(token: 1, readiness: .closed)])
        _ = readEnd.number
    }

    @Test func `a wake that can't get through stops the program with a word`() throws {
        let run = try ProgramRun(
            built: "ProgramDescriptors", ["doorbell-closed-by-another"], isStopped: true)
        #expect(run.status != .exited(0))
        #expect(run.output.contains("a run loop can't be woken"))
    }

    @Test func `two sets watch the same descriptor independently`() throws {
        let poller = SystemPoller()
        let sets = try (0..<2).map { _ in try poller.makeSet() }
        let pipe = try Pipe()
        for (token, set) in sets.enumerated() {
            try set.add(pipe.writeEnd.number, for: .writable, token: UInt64(token))
        }
        sets[0].remove(pipe.writeEnd.number)
        #expect(check(poller, sets[0]).isEmpty)
        #expect(check(poller, sets[1]).map(\.token) == [1])
    }

    @Test func `watching twice, or what cannot be watched, is refused`() throws {
        let poller = SystemPoller()
        let set = try poller.makeSet()
        let pipe = try Pipe()
        try set.add(pipe.readEnd.number, for: .readable, token: 1)
        let twice = #expect(throws: SystemError.self) {
            try set.add(pipe.readEnd.number, for: .readable, token: 2)
        }
        #expect(twice?.errno == EEXIST)
        let directory = try TestDirectory()
        try File.write([1, 2, 3], to: directory.file("regular"))
        let number = unsafe open(directory.file("regular"), O_RDONLY | O_CLOEXEC)
        let regular = Descriptor(owning: number)
        let unwatchable = #expect(throws: SystemError.self) {
            try set.add(number, for: .readable, token: 3)
        }
        #expect(unwatchable?.errno == EPERM)
        _ = regular.number
    }

    @Test(
        .enabled(
            if: (try? ResourceLimit.openDescriptors.current().soft) ?? 0 >= 600,
            "it takes 300 descriptors: ulimit -n 600"))
    func `more than fit into one call are reported by the next`() throws {
        let poller = SystemPoller()
        let set = try poller.makeSet()
        let pipe = try Pipe()
        _ = try pipe.writeEnd.write(contentsOf: [1])
        let copies = (0..<300).map { _ in dup(pipe.readEnd.number) }
        defer { copies.forEach { _ = close($0) } }
        for (token, copy) in copies.enumerated() {
            try set.add(copy, for: .readable, token: UInt64(token))
        }
        var seen: Set<UInt64> = []
        for _ in 0..<3 { seen.formUnion(check(poller, set).map(\.token)) }
        #expect(seen.count == 300)
    }
}
