import Kernel
import Support
import Synchronization
import Testing

@Suite struct `A clock that machines share` {
    /// The time since the machine's start, moved by hand.
    private final class Machine: Sendable {
        private let nanoseconds = Atomic<Int64>(5)
        var value: Int64 { nanoseconds.load(ordering: .relaxed) }

        func add(_ span: Int) { nanoseconds.add(Int64(span), ordering: .relaxed) }
    }

    private let machine = Machine()
    private let setCount = Counter()
    private let clock: SharedClock
    private let wall: WallTime

    private static let hour = 3_600_000_000_000

    init() {
        clock = SharedClock { [machine] in machine.value }
        wall = WallTime(of: clock)
        clock.whenSet { [setCount] in setCount.increment() }
    }

    private func read(_ nanoseconds: Int, lasting span: Int = 0) {
        let earliest = clock.beforeReading()
        machine.add(span)
        clock.wasRead(Int64(nanoseconds), after: earliest)
    }

    @Test func `shows the machine's time until it is read`() {
        #expect(abs(wall.unixMilliseconds() - WallClock.unixMilliseconds()) < 60_000)
        #expect(wall.onMachine(5) == 5)
    }

    @Test func `passes with the time since the machine's start`() {
        read(Self.hour)
        machine.add(7_000_000)
        #expect(wall.unixNanoseconds() == Int64(Self.hour + 7_000_000))
        #expect(setCount.count == 0)
        // The clock of this machine is decades ahead of it.
        let lead = WallClock.unixMilliseconds() - 3_600_007
        #expect(abs(wall.onMachine(3_600_010) - 3_600_010 - lead) < 60_000)
    }

    @Test func `is taken to be in the middle of its first reading`() {
        read(Self.hour, lasting: 10_000_000)
        #expect(wall.unixNanoseconds() == Int64(Self.hour + 5_000_000))
    }

    @Test func `stays as it is when a reading differs by little, or took long`() {
        read(Self.hour)
        read(Self.hour + 249_000_000)
        read(Self.hour - 249_000_000)
        #expect(wall.unixNanoseconds() == Int64(Self.hour))
        read(Self.hour + 100, lasting: 5_000_000_000)
        read(Self.hour + 5_249_000_000)
        #expect(wall.unixNanoseconds() == Int64(Self.hour + 5_000_000_000))
        #expect(setCount.count == 0)
    }

    @Test func `is corrected by a reading that took less than half as long`() {
        read(Self.hour, lasting: 400_000_000)
        // The first answer took all of that time on its way back.
        let late = Self.hour + 400_000_000
        read(late, lasting: 200_000_000)
        #expect(wall.unixNanoseconds() == Int64(late))
        read(late + 200_000_000, lasting: 10_000_000)
        #expect(wall.unixNanoseconds() == Int64(late + 205_000_000))
        read(late, lasting: 6_000_000)
        #expect(wall.unixNanoseconds() == Int64(late + 211_000_000))
        #expect(setCount.count == 0)
    }

    @Test(arguments: [2_000_000_000, -2_000_000_000])
    func `is set, and tells so, when a reading differs by more`(difference: Int) {
        read(Self.hour)
        read(Self.hour + difference)
        #expect(wall.unixNanoseconds() == Int64(Self.hour + difference))
        #expect(setCount.count == 1)
        read(Self.hour + difference)
        #expect(setCount.count == 1)
    }
}
