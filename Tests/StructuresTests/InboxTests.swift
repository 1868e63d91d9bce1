// Proves that no element is lost between threads, that arrival order is kept per producer, and that
// after a close each element was either handed over or refused.

import Kernel
import Structures
import Synchronization
import Testing

extension Inbox {
    /// The number of spare blocks, as `Inbox+Spares.swift` lays the word out.
    fileprivate var spareBlockCount: Int { Int(spares.load(ordering: .relaxed) & 0xFFFF) }
}

@Suite(.serialized, .timeLimit(.minutes(2))) struct `An inbox` {
    /// One element of a concurrent test: its producer, and its number among that producer's
    /// elements.
    struct Message: Equatable {
        let producer: Int
        let number: Int
    }

    @Test func `hands over in order of arrival and says who must wake`() {
        let inbox = Inbox<Int>()
        var received = [0]
        #expect(inbox.isEmpty)
        #expect(inbox.push(1) == .first)
        #expect(inbox.push(2) == .queued)
        #expect(inbox.push(3) == .queued)
        #expect(!inbox.isEmpty)
        #expect(!inbox.isResting)
        #expect(!inbox.rest(), "something waits")
        #expect(inbox.drain(into: &received))
        #expect(received == [0, 1, 2, 3])
        #expect(inbox.isEmpty)
        #expect(inbox.drain(into: &received))
        #expect(received.count == 4)
        #expect(inbox.push(4) == .queued, "a consumer that does not rest comes back by itself")
        #expect(inbox.popFirst() == 4)
        #expect(inbox.popFirst() == nil)
        #expect(inbox.rest())
        #expect(inbox.isResting)
        #expect(inbox.push(5) == .first)
        #expect(inbox.push(6) == .queued)
    }

    @Test func `takes what was pushed before a mark`() {
        let inbox = Inbox<Int>()
        let start = inbox.end
        #expect(inbox.isTaken(upTo: start))
        // More than two blocks, and a border right at the mark.
        for number in 0..<128 { _ = inbox.push(number) }
        let mark = inbox.end
        for number in 128..<200 { _ = inbox.push(number) }
        var received: [Int] = []
        while !inbox.isTaken(upTo: mark), let number = inbox.popFirst() { received.append(number) }
        #expect(received == Array(0..<128))
        #expect(inbox.drain(into: &received))
        #expect(received == Array(0..<200))
    }

    @Test(arguments: [0, 1, 3, 4, 5, 67, 68, 69, 132, 133])
    func `releases what is left, wherever in its blocks the consumer stands`(taken: Int) {
        let released = Counter()
        do {
            let inbox = Inbox<Token>()
            for _ in 0..<200 { _ = inbox.push(Token(released)) }
            for _ in 0..<taken { _ = inbox.popFirst() }
            #expect(released.value.load(ordering: .relaxed) == taken)
        }
        #expect(released.value.load(ordering: .relaxed) == 200)
        let closed = Inbox<Token>()
        for _ in 0..<200 { _ = closed.push(Token(released)) }
        for _ in 0..<taken { _ = closed.popFirst() }
        var left: [Token] = []
        closed.close(into: &left) { Issue.record("nobody is pushing") }
        #expect(left.count == 200 - taken)
        left.removeAll()
        #expect(released.value.load(ordering: .relaxed) == 400)
    }

    @Test(arguments: [0, 1, 3, 4, 5, 67, 68, 69, 132, 133, 1_000])
    func `counts what is in it across blocks`(_ count: Int) {
        let inbox = Inbox<Int>()
        for round in 0..<3 {
            for number in 0..<count {
                #expect(inbox.count == number, "round \(round)")
                _ = inbox.push(number)
            }
            for number in 0..<count {
                #expect(inbox.count == count - number, "round \(round)")
                _ = inbox.popFirst()
            }
        }
        var left: [Int] = []
        _ = inbox.push(1)
        inbox.close(into: &left) {}
        #expect(inbox.count == 0)
    }

    @Test func `keeps the memory of a burst for the next one, and not all that of a flood`() {
        let inbox = Inbox<Int>()
        func push(blocks: Int) {
            for number in 0..<(blocks * 64) { _ = inbox.push(number) }
            var count = 0
            while inbox.popFirst() != nil { count += 1 }
            #expect(count == blocks * 64)
        }
        push(blocks: 16)
        #expect(inbox.spareBlockCount == 15, "it stands in the last one")
        for _ in 0..<3 {
            push(blocks: 16)
            #expect(inbox.spareBlockCount == 16, "no more than that: the others were used again")
        }
        for _ in 0..<3 {
            push(blocks: 200)
            #expect(inbox.spareBlockCount == 64)
        }
    }

    @Test func `begins with four slots, and keeps whole blocks only`() {
        let inbox = Inbox<Int>()
        func pass(_ count: Int) {
            for number in 0..<count { _ = inbox.push(number) }
            for number in 0..<count { #expect(inbox.popFirst() == number) }
        }
        pass(4)
        #expect(inbox.spareBlockCount == 0)
        pass(1)
        #expect(inbox.spareBlockCount == 0, "the first block has gone with its last element")
        pass(64)
        #expect(inbox.spareBlockCount == 1, "the second one is kept: it was full after 63 more")
    }

    @Test func `keeps elements of any size and alignment`() {
        let wide = Inbox<SIMD8<Double>>()
        for number in 0..<100 { _ = wide.push(SIMD8(repeating: Double(number))) }
        for number in 0..<100 { #expect(wide.popFirst() == SIMD8(repeating: Double(number))) }
        let none = Inbox<Void>()
        for _ in 0..<100 { _ = none.push(()) }
        var count = 0
        while none.popFirst() != nil { count += 1 }
        #expect(count == 100)
    }

    @Test func `refuses after a close and stays closed`() {
        let inbox = Inbox<Int>()
        var received: [Int] = []
        _ = inbox.push(1)
        #expect(!inbox.isClosed)
        inbox.close(into: &received, waiting: giveWay)
        #expect(received == [1])
        #expect(inbox.isClosed)
        #expect(inbox.isEmpty)
        #expect(inbox.push(2) == .closed)
        #expect(inbox.drain(into: &received))
        inbox.close(into: &received, waiting: giveWay)
        #expect(received == [1])
        #expect(inbox.push(3) == .closed)
    }

    @Test func `takes elements that are not sendable`() {
        final class Box { var number = 0 }
        let inbox = Inbox<Box>()
        let box = Box()
        box.number = 7
        _ = inbox.push(box)
        var received: [Box] = []
        #expect(inbox.drain(into: &received))
        #expect(received.map(\.number) == [7])
    }

    @Test func `releases what it refuses, what it hands over and what is left in it`() {
        let released = Counter()
        do {
            let inbox = Inbox<Token>()
            _ = inbox.push(Token(released))
            var received: [Token] = []
            #expect(inbox.drain(into: &received))
            received.removeAll()
            #expect(released.value.load(ordering: .relaxed) == 1)
            _ = inbox.push(Token(released))
            _ = inbox.push(Token(released))
            #expect(released.value.load(ordering: .relaxed) == 1)
        }
        #expect(released.value.load(ordering: .relaxed) == 3)
        let closed = Inbox<Token>()
        var none: [Token] = []
        closed.close(into: &none, waiting: giveWay)
        #expect(closed.push(Token(released)) == .closed)
        #expect(released.value.load(ordering: .relaxed) == 4)
    }

    @Test(arguments: [1, 2, 8])
    func `loses nothing of several producers and keeps the order of each`(producers: Int) async {
        let perProducer = 20_000
        let inbox = Inbox<Message>()
        let firsts = Counter()
        await withTaskGroup { group in
            for producer in 0..<producers {
                group.addTask {
                    for number in 0..<perProducer {
                        let result = inbox.push(Message(producer: producer, number: number))
                        if result == .first { firsts.value.add(1, ordering: .relaxed) }
                        // Yields now and then: there may be fewer threads than producers.
                        if number % 256 == 255 { await Task.yield() }
                    }
                }
            }
            var next = [Int](repeating: 0, count: producers)
            var (rests, received, misplaced, idle) = (0, 0, 0, 0)
            while received < producers * perProducer, idle < 10_000_000 {
                guard let message = inbox.popFirst() else {
                    if !inbox.isResting {
                        // A rest that is taken back can have been seen, too.
                        rests += 1
                        _ = inbox.rest()
                    }
                    idle += 1
                    // Busy, so that takes and pushes meet; but there may be no other thread to
                    // push.
                    if idle % 5_000 == 4_999 { await Task.yield() }
                    continue
                }
                if message.number != next[message.producer] { misplaced += 1 }
                next[message.producer] = message.number + 1
                received += 1
                idle = 0
            }
            await group.waitForAll()
            #expect(received == producers * perProducer)
            #expect(misplaced == 0)
            #expect(inbox.isEmpty)
            let announced = firsts.value.load(ordering: .relaxed)
            #expect(
                (1...(rests + 1)).contains(announced),
                "one wake at most for each time it wanted to rest")
        }
    }

    @Test func `hands over or refuses each element when it is closed amid pushes`() async {
        for round in 0..<400 { await closeAmidPushes(round: round) }
    }

    private func closeAmidPushes(round: Int) async {
        let inbox = Inbox<Message>()
        await withTaskGroup(of: (producer: Int, accepted: Int).self) { group in
            for producer in 0..<3 {
                group.addTask {
                    for number in 0..<500 {
                        let result = inbox.push(Message(producer: producer, number: number))
                        if result == .closed { return (producer, number) }
                    }
                    return (producer, 500)
                }
            }
            var received: [Message] = []
            var idle = 0
            while received.count < round % 50 {
                let before = received.count
                if !inbox.drain(into: &received) { await Task.yield() }
                idle = received.count == before ? idle + 1 : 0
                if idle % 5_000 == 4_999 { await Task.yield() }
            }
            inbox.close(into: &received, waiting: giveWay)
            for await (producer, accepted) in group {
                let numbers = received.filter { $0.producer == producer }.map(\.number)
                #expect(numbers == Array(0..<accepted), "round \(round)")
            }
            #expect(inbox.isEmpty)
        }
    }
}

/// A number that several threads increment.
private final class Counter: Sendable {
    let value = Atomic(0)
}

/// Lets the thread run that is about to publish.
private func giveWay() { SystemThread.yield() }

/// Counts its own end.
private final class Token: Sendable {
    let released: Counter
    init(_ released: Counter) { self.released = released }
    deinit { released.value.add(1, ordering: .relaxed) }
}
