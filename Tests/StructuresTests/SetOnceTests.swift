// Proves that the first object stays, whatever is stored later, and is released with its place.

import Structures
import Support
import Synchronization
import Testing

@Suite struct `A place that is set once` {
    private final class Thing: Sendable {}

    private final class Holder: Sendable {
        let place = SetOnce<Thing>()
    }

    @Test func `is empty until something is put in, and gives the first to all that come later`() {
        let place = SetOnce<Thing>()
        #expect(place.load() == nil)
        let first = Thing()
        #expect(place.storeIfNil(first) === first)
        #expect(place.storeIfNil(Thing()) === first)
        #expect(place.load() === first)
    }

    @Test func `keeps the first object for as long as it is there, and none of the others`() throws
    {
        weak var first: Thing?
        weak var second: Thing?
        do {
            let holder = Holder()
            do {
                let things = [Thing(), Thing()]
                (first, second) = (things[0], things[1])
                for thing in things { _ = holder.place.storeIfNil(thing) }
            }
            #expect(first != nil)
            #expect(second == nil)
            #expect(holder.place.load() === first)
        }
        #expect(first == nil)
    }

    @Test(.timeLimit(.minutes(2)))
    func `gives the same object to all threads that put one in at the same time`() throws {
        for _ in 0..<100 {
            let race = Race()
            let threads = try (0..<4).map { number in
                try TestThread(name: "setter \(number)") { race.run() }
            }
            race.isStarted.store(true, ordering: .releasing)
            for thread in threads { thread.join() }
            #expect(race.answers.withLock(\.count) == 4)
            #expect(race.answers.withLock { Set($0.map { ObjectIdentifier($0) }).count } == 1)
        }
    }

    private final class Race: Sendable {
        let holder = Holder()
        let isStarted = Atomic<Bool>(false)
        /// The object that each thread was given.
        let answers = Mutex<[Thing]>([])

        func run() {
            let thing = Thing()
            while !isStarted.load(ordering: .acquiring) {}
            let kept = holder.place.storeIfNil(thing)
            answers.withLock { $0.append(kept) }
        }
    }
}
