// Proves that nothing is lost between threads, that arrival order is kept per producer, and that
// after a close each element was either handed over or refused.

import Structures
import Synchronization
import Testing

@Suite(.serialized, .timeLimit(.minutes(4))) struct `An inbox` {
    /// One element of a concurrent test: who sent it, and which of his it is.
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
        inbox.drain(into: &received)
        #expect(received == [0, 1, 2, 3])
        #expect(inbox.isEmpty)
        inbox.drain(into: &received)
        #expect(received.count == 4)
        #expect(inbox.push(4) == .first)
    }

    @Test func `refuses after a close and stays closed`() {
        let inbox = Inbox<Int>()
        var received: [Int] = []
        _ = inbox.push(1)
        #expect(!inbox.isClosed)
        inbox.close(into: &received)
        #expect(received == [1])
        #expect(inbox.isClosed)
        #expect(inbox.isEmpty)
        #expect(inbox.push(2) == .closed)
        inbox.drain(into: &received)
        inbox.close(into: &received)
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
        inbox.drain(into: &received)
        #expect(received.map(\.number) == [7])
    }

    @Test func `releases what it refuses, what it hands over and what is left in it`() {
        final class Token: Sendable {
            let released: Counter
            init(_ released: Counter) { self.released = released }
            deinit { released.value.add(1, ordering: .relaxed) }
        }
        let released = Counter()
        do {
            let inbox = Inbox<Token>()
            _ = inbox.push(Token(released))
            var received: [Token] = []
            inbox.drain(into: &received)
            received.removeAll()
            #expect(released.value.load(ordering: .relaxed) == 1)
            _ = inbox.push(Token(released))
            _ = inbox.push(Token(released))
            #expect(released.value.load(ordering: .relaxed) == 1)
        }
        #expect(released.value.load(ordering: .relaxed) == 3)
        let closed = Inbox<Token>()
        var none: [Token] = []
        closed.close(into: &none)
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
                        // Gives way now and then: there may be fewer threads than producers.
                        if number % 256 == 255 { await Task.yield() }
                    }
                }
            }
            var next = [Int](repeating: 0, count: producers)
            var batch: [Message] = []
            var (batches, received, misplaced, idle) = (0, 0, 0, 0)
            while received < producers * perProducer, idle < 10_000_000 {
                batch.removeAll(keepingCapacity: true)
                inbox.drain(into: &batch)
                for message in batch {
                    if message.number != next[message.producer] { misplaced += 1 }
                    next[message.producer] = message.number + 1
                }
                received += batch.count
                batches += batch.isEmpty ? 0 : 1
                idle = batch.isEmpty ? idle + 1 : 0
                // Busy, so that drains and pushes meet; but there may be no other thread to push.
                if idle % 5_000 == 4_999 { await Task.yield() }
            }
            await group.waitForAll()
            #expect(received == producers * perProducer)
            #expect(misplaced == 0)
            #expect(inbox.isEmpty)
            #expect(firsts.value.load(ordering: .relaxed) == batches, "one wake for each batch")
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
                inbox.drain(into: &received)
                idle = received.count == before ? idle + 1 : 0
                if idle % 5_000 == 4_999 { await Task.yield() }
            }
            inbox.close(into: &received)
            for await (producer, accepted) in group {
                let numbers = received.filter { $0.producer == producer }.map(\.number)
                #expect(numbers == Array(0..<accepted), "round \(round)")
            }
            #expect(inbox.isEmpty)
        }
    }
}

/// A number that several threads count up.
private final class Counter: Sendable {
    let value = Atomic(0)
}
