// Proves that nothing is lost between threads, that arrival order is kept per producer, and that
// after a close each element was either handed over or refused.

import Structures
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct `An inbox` {
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
                    }
                }
            }
            var next = [Int](repeating: 0, count: producers)
            var batch: [Message] = []
            var batches = 0
            while next.reduce(0, +) < producers * perProducer {
                inbox.drain(into: &batch)
                if batch.isEmpty { await Task.yield() } else { batches += 1 }
                for message in batch {
                    #expect(message.number == next[message.producer])
                    next[message.producer] += 1
                }
                batch.removeAll(keepingCapacity: true)
            }
            await group.waitForAll()
            #expect(inbox.isEmpty)
            #expect(firsts.value.load(ordering: .relaxed) == batches, "one wake for each batch")
        }
    }

    @Test(arguments: 0..<50)
    func `hands over or refuses each element when it is closed amid pushes`(round: Int) async {
        let producers = 3
        let inbox = Inbox<Message>()
        let closeAfter = round * 40
        await withTaskGroup(of: (producer: Int, accepted: Int).self) { group in
            for producer in 0..<producers {
                group.addTask {
                    // Gives way now and then: there may be fewer threads than producers.
                    var accepted = 0
                    while inbox.push(Message(producer: producer, number: accepted)) != .closed {
                        accepted += 1
                        if accepted % 64 == 0 { await Task.yield() }
                    }
                    return (producer, accepted)
                }
            }
            var received: [Message] = []
            while received.count < closeAfter {
                inbox.drain(into: &received)
                await Task.yield()
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
