// How other threads hand things to a loop: many producers, one consumer, no lock, and no allocation
// for an element.
//
// A chain of blocks. One word says which block is the last and how many of its slots are claimed;
// a producer claims the next slot by adding one to it, writes its element there and publishes it
// by the slot's flag. Who finds the block full puts a new one in the word's place. The consumer walks
// along behind, and gives a block back when it has left it.
//
// After A. Morrison and Y. Afek, "Fast Concurrent Queues for x86 Processors" (PPoPP 2013): claims by
// fetch-and-add in a chain of rings. Deviations: block and index are one word, so that who has
// claimed a slot knows its block and nobody reaches into a block that may be gone: no hazard
// pointers, no epochs. A consumer that finds a slot claimed but not yet published takes it for
// "arriving" instead of making it invalid: there is one consumer, and it has other things to do.
//
// `word`: bits 16… address of the last block, bits 0…15 how many of its slots were asked for
//    index < capacity    open; that many slots are claimed
//    index ≥ capacity    the block is full; what is above came too late and asks again
//    address 0           closed for ever (its index is full, so that one comparison says both)
//    address 1           open, no block yet (full as well)
// The index can't reach the address: each thread adds at most one to a block that it has seen with
// room, and there are fewer than 65,000 threads.
//
// E1 publish       push: element, then slot's flag.store(true) ─▶ popFirst, takeRow: flag.load
//    release ─▶ acquire: carries the element.
// E2 no lost wake  push: word.add, publication, then resting.load
//                  rest: resting.store(true), then word.load
//    add, store and loads sequentially consistent: either the producer sees that the consumer rests and must
//    be woken, or the consumer sees the claim. If what it claimed is not published yet, `rest` says
//    "not everything was taken" and the consumer comes back by itself. The publication may become
//    visible after the load: the claim is what counts, so a release is enough for it.
// E3 close         close: word.exchange(closed) ─▶ push: word.add or compareExchange
//    each claim is before the close, and the closer waits for its publication, or is refused.
// E4 link          push: word.compareExchange(full → new block), then the old block's next.store
//                  popFirst: next.load ─▶ the old block is left, and used again, or given back if
//                  it is the first of all, which is a short one
//    the store is the last that any producer does to the old block: all its slots were published
//    before the consumer could leave it, and who came too late for it never looks into it.
// E5 reuse         Inbox+Spares.swift
//
// Without E1 the consumer reads a half-written element; without E2 an element sleeps with the loop;
// without E3 an element is neither handled nor refused; without E4 and E5 a producer writes into
// memory that is somebody else's.

public import Synchronization

/// Hands elements from any thread to one consumer, in the order in which they arrived.
///
/// Elements need not be sendable: each is sent to the inbox, and by the inbox to the consumer. What
/// is still in the inbox when it is deinitialised is released there. How many may wait is the
/// owner's to decide, before it pushes.
@usableFromInline
package final class Inbox<Element>: @unchecked Sendable {
    // SAFETY: a slot belongs to who claimed it until it is published (E1), then to the consumer; a
    // block to who allocated it until it is linked (E4), and again to who takes it as a spare (E5).

    /// What became of a pushed element, and what its producer has to do.
    @usableFromInline
    package enum PushResult: Sendable {
        /// The consumer rests: signal it and wake it.
        case first
        /// The consumer does not rest, or somebody else is about to wake it.
        case queued
        /// The inbox is closed: the element has been released, and nobody will see it.
        case closed
    }

    @usableFromInline typealias Block = InboxBlock<Element>

    /// The last block and its claimed slots; every producer writes it.
    @usableFromInline let word = Atomic<UInt>(Word.unopened)
    /// Blocks to use again (`Inbox+Spares.swift`).
    @usableFromInline let spares = Atomic<UInt>(0)
    /// The first block of all, or 0 as long as there was none, and when it was left.
    @usableFromInline let firstBlock = Atomic<UInt>(0)

    /// How many blocks were put in so far; written once for each.
    ///
    /// Publishes nothing.
    let linkedCount = Atomic<Int>(0)

    // Producers read the following in every push while only the consumer writes it: it is on
    // another cache line than what they write.
    let spacing: (UInt, UInt, UInt, UInt) = (0, 0, 0, 0)

    /// Whether the consumer waits to be told of the next element.
    @usableFromInline let resting = Atomic<Bool>(true)

    // It changes when the consumer begins to rest and when it is told, and the following with every
    // element that it takes: on one cache line with them, each push would wait for that line.
    let distance: (UInt, UInt, UInt, UInt, UInt, UInt, UInt) = (0, 0, 0, 0, 0, 0, 0)

    /// The block and slot of the next element to take, as in `word`; written by the consumer.
    @usableFromInline let position = Atomic<UInt>(Word.unopened)
    /// How many blocks the consumer has left behind.
    ///
    /// Publishes nothing.
    let leftCount = Atomic<Int>(0)

    /// Makes an open, empty inbox, which owns no block yet.
    package init() {}

    deinit {
        // Nobody can be about to publish: whoever pushes holds the inbox.
        while popFirst() != nil {}
        releaseBlocks()
    }

    /// Whether nothing is in it; may have changed by the time the caller looks at the answer.
    ///
    /// What is just being pushed counts as in it.
    ///
    /// - Thread: any. The second half of E2 if the consumer asks before it sleeps.
    @inlinable
    package var isEmpty: Bool {
        let position = position.load(ordering: .sequentiallyConsistent)
        return Word.settled(word.load(ordering: .sequentiallyConsistent)) == position  // E2
    }

    /// How many elements are in it, what is just being pushed among them.
    ///
    /// Exact while nobody pushes or takes; neither of them does anything for it in each push and
    /// each take, so meanwhile it can be off by a block.
    ///
    /// - Thread: any.
    @usableFromInline
    package var count: Int {
        if isEmpty { return 0 }
        let claimed = word.load(ordering: .relaxed)
        let taken = position.load(ordering: .relaxed)
        guard Word.address(claimed) > Word.unopenedAddress else { return 0 }
        let behind = (linkedCount.load(ordering: .relaxed) - 1) * Int(Word.capacity)
        let arrivedCount = behind + Int(Word.index(Word.settled(claimed)))
        let isStarted = Word.address(taken) > Word.unopenedAddress
        let missing = Int(Word.firstOfAll)
        let left = leftCount.load(ordering: .relaxed) * Int(Word.capacity)
        // What the first block lacks counts as taken.
        return max(0, arrivedCount - (isStarted ? left + Int(Word.index(taken)) : missing))
    }

    /// Whether it refuses whatever is pushed; once true, always true.
    ///
    /// - Thread: any.
    @inlinable
    package var isClosed: Bool {
        Word.address(word.load(ordering: .sequentiallyConsistent)) == Word.closedAddress  // E3
    }

    /// Adds `element` behind those that arrived before.
    ///
    /// - Returns: whether the caller has to wake the consumer.
    /// - Thread: any.
    /// - Blocks: never; one allocation for 64 elements, if no block is left over.
    @inlinable
    @inline(__always)
    package func push(_ element: consuming sending Element) -> PushResult {
        guard let claim = claim() else { return pushBeyond(consume element) }
        return publish(consume element, at: claim)
    }

    /// A slot that belongs to who has claimed it: to be published, or the consumer waits for it for ever.
    @usableFromInline
    package struct Claim: ~Copyable {
        @usableFromInline let word: UInt

        @inlinable
        init(word: UInt) { self.word = word }
    }

    /// The first half of a push, where there is room in the last block.
    ///
    /// - Returns: nil when there is none, or the inbox is closed: then `push` does what is needed.
    /// - Thread: any.
    @inlinable
    @inline(__always)
    package func claim() -> Claim? {
        // A guess first: once the block is full or the inbox closed, adding would only count up.
        guard Word.hasRoom(word.load(ordering: .relaxed)) else { return nil }
        let claim = word.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue  // E2, E3
        return Word.hasRoom(claim) ? Claim(word: claim) : nil
    }

    /// Takes the oldest element.
    ///
    /// - Returns: nil when nothing is there, or the next one is still being written: `rest` tells.
    /// - Thread: the consumer's.
    @inlinable
    package func popFirst() -> Element? {
        guard let place = readablePlace() else { return nil }
        let block = Block(at: Word.address(place))
        let slot = Word.index(place)
        guard block.isPublished(slot) else { return nil }  // E1
        position.store(place &+ 1, ordering: .relaxed)
        return unsafe block.element(in: slot).move()
    }

    /// Where the next element is, or will be; nil as long as there is no block for it.
    @inlinable
    @inline(__always)
    func readablePlace() -> UInt? {
        let place = position.load(ordering: .relaxed)
        return Word.hasRoom(place) ? place : nextBlock(after: place)
    }

    /// Tells producers that the next element has to be announced, if everything was taken.
    ///
    /// Clear the signal that `.first` set before the first `popFirst`, never after it.
    ///
    /// - Returns: false when something has arrived or is arriving: the consumer has to come back
    ///   by itself, nobody will tell it.
    /// - Thread: the consumer's.
    @inlinable
    package func rest() -> Bool {
        resting.store(true, ordering: .sequentiallyConsistent)  // E2
        if isEmpty { return true }
        resting.store(false, ordering: .sequentiallyConsistent)
        return false
    }

    /// Whether the consumer rests, and so is told of the next element.
    ///
    /// - Thread: the consumer's.
    @inlinable
    package var isResting: Bool { resting.load(ordering: .relaxed) }

    /// A place between elements: behind all that were pushed until some moment.
    @usableFromInline
    package struct Mark {
        @usableFromInline let word: UInt

        @inlinable
        init(word: UInt) { self.word = word }
    }

    /// Behind all that was pushed so far, or is being pushed.
    ///
    /// - Thread: any.
    @inlinable
    package var end: Mark {
        Mark(word: Word.settled(word.load(ordering: .sequentiallyConsistent)))
    }

    /// Whether everything before a mark was taken.
    ///
    /// - Thread: the consumer's.
    @inlinable
    package func isTaken(upTo mark: Mark) -> Bool {
        position.load(ordering: .relaxed) == mark.word
    }

    /// Moves what has arrived to the end of `elements`.
    ///
    /// - Parameter elements: keep it for the next time, and draining allocates nothing.
    /// - Returns: false when one that was being pushed, and those behind it, had to be left: they
    ///   can be taken in a moment, and nobody will tell the consumer.
    /// - Thread: the consumer's.
    /// - Blocks: never; takes what was there at one moment, so producers cannot hold it up.
    @inlinable
    package func drain(into elements: inout [Element]) -> Bool {
        let end = end
        // Much more than there is room for: grown once. An array that doubles again and again copies
        // what it has each time, and is the first to touch twice as much memory.
        if Word.address(end.word) != Word.address(position.load(ordering: .relaxed)) {
            let expected = elements.count + count
            if expected > 2 * elements.capacity { elements.reserveCapacity(expected) }
        }
        while !isTaken(upTo: end) {
            guard takeRow(upTo: end, into: &elements) else { return false }
        }
        return true
    }

    /// Moves what has arrived in one block to the end of `elements`.
    ///
    /// - Returns: false when not all of it is written yet.
    /// - Thread: the consumer's.
    @inlinable
    func takeRow(upTo end: Mark, into elements: inout [Element]) -> Bool {
        guard var place = readablePlace() else { return false }
        let block = Block(at: Word.address(place))
        let isLast = Word.address(end.word) == Word.address(place)
        let last = isLast ? Word.index(end.word) : Word.capacity
        let count = Int(bitPattern: last &- Word.index(place))
        elements.append(addingCapacity: count) { row in
            while Word.index(place) != last, block.isPublished(Word.index(place)) {  // E1
                row.append(unsafe block.element(in: Word.index(place)).move())
                place &+= 1
            }
        }
        position.store(place, ordering: .relaxed)
        return Word.index(place) == last
    }

    /// Refuses whatever is pushed from now on, and moves what is in it to the end of `elements`.
    ///
    /// - Parameter wait: gives way to a producer that has claimed its place and not yet published.
    /// - Thread: the consumer's. May be called again; there is nothing in it then.
    /// - Blocks: for as long as producers are between two neighbouring instructions.
    package func close(into elements: inout [Element], waiting wait: () -> Void) {
        let last = word.exchange(Word.closed, ordering: .sequentiallyConsistent)  // E3
        guard Word.address(last) != Word.closedAddress else { return }
        while position.load(ordering: .relaxed) != Word.settled(last) {
            if let element = popFirst() { elements.append(element) } else { wait() }
        }
        releaseBlocks()
        position.store(Word.closed, ordering: .sequentiallyConsistent)
    }

    /// The second half of a push.
    ///
    /// - Returns: whether the caller has to wake the consumer.
    @inlinable
    @inline(__always)
    package func publish(
        _ element: consuming sending Element, at claim: consuming Claim
    ) -> PushResult {
        let block = Block(at: Word.address(claim.word))
        let slot = Word.index(claim.word)
        unsafe block.element(in: slot).initialize(to: element)
        block.publish(slot)  // E1
        guard resting.load(ordering: .sequentiallyConsistent) else { return .queued }  // E2
        return resting.exchange(false, ordering: .sequentiallyConsistent) ? .first : .queued
    }

    /// Pushes where there was no room: into a new block, or into one that somebody else has put in.
    @inline(never)
    @usableFromInline
    func pushBeyond(_ element: consuming sending Element) -> PushResult {
        var new: Block?
        while true {
            let seen = word.load(ordering: .sequentiallyConsistent)
            if Word.address(seen) == Word.closedAddress {
                if let new { keep(new) }
                return .closed
            }
            if Word.hasRoom(seen) {
                guard let claim = claim() else { continue }
                if let new { keep(new) }
                return publish(element, at: claim)
            }
            let isFirst = Word.address(seen) == Word.unopenedAddress
            let slot = isFirst ? Word.firstOfAll : 0
            let block = new ?? (isFirst ? Block(from: slot) : makeBlock())
            let place = Word.make(block.address, index: slot)
            let isIn = word.compareExchange(
                expected: seen, desired: place + 1, ordering: .sequentiallyConsistent
            ).exchanged
            guard isIn else {
                // A short block is of no use elsewhere.
                if isFirst { block.deallocate(from: slot) } else { new = block }
                continue
            }
            link(block, behind: Word.address(seen))
            return publish(element, at: Claim(word: place))
        }
    }

    private func link(_ block: Block, behind address: UInt) {
        linkedCount.wrappingAdd(1, ordering: .relaxed)
        if address == Word.unopenedAddress {
            firstBlock.store(block.address, ordering: .releasing)  // E4
        } else {
            Block(at: address).next = block.address  // E4
        }
    }

    /// The start of the block after the one that was taken whole; nil if there is none yet.
    @inline(never)
    @usableFromInline
    func nextBlock(after place: UInt) -> UInt? {
        let address = Word.address(place)
        guard address > Word.unopenedAddress else {
            let first = firstBlock.load(ordering: .acquiring)  // E4
            guard address == Word.unopenedAddress, first != 0 else { return nil }
            return Word.make(first, index: Word.firstOfAll)
        }
        let left = Block(at: address)
        let next = left.next  // E4
        guard next != 0 else { return nil }
        let start = Word.make(next, index: 0)
        position.store(start, ordering: .relaxed)
        leftCount.store(leftCount.load(ordering: .relaxed) + 1, ordering: .relaxed)
        if isFirst(left) { releaseFirst(left) } else { keep(left) }
        return start
    }

    /// Whether a block is the short one that an inbox begins with; on the consumer's thread.
    private func isFirst(_ block: Block) -> Bool {
        block.address == firstBlock.load(ordering: .relaxed)
    }

    /// Gives the memory of the first block back when it was left.
    private func releaseFirst(_ block: Block) {
        // A later block may be given the same address.
        firstBlock.store(0, ordering: .relaxed)
        block.deallocate(from: Word.firstOfAll)
    }

    /// Gives back the memory of an inbox from which everything was taken.
    private func releaseBlocks() {
        let address = Word.address(position.load(ordering: .relaxed))
        if address > Word.unopenedAddress {
            let block = Block(at: address)
            if isFirst(block) { releaseFirst(block) } else { block.deallocate() }
        }
        releaseSpares()
    }
}

/// The word of an inbox: a block's address and an index into it.
@usableFromInline
enum Word {
    /// As many slots as a block has; the same for all elements, so that a word says it all.
    @inlinable static var capacity: UInt { InboxBlock<Void>.capacity }
    /// The first slot of the first block of all, which is a short one: many an inbox never gets more
    /// than a few elements at a time, and then none of them for long.
    @inlinable static var firstOfAll: UInt { capacity - 4 }
    @inlinable static var closedAddress: UInt { 0 }
    @inlinable static var unopenedAddress: UInt { 1 }
    @inlinable static var closed: UInt { make(closedAddress, index: capacity) }
    @inlinable static var unopened: UInt { make(unopenedAddress, index: capacity) }

    @inlinable static func make(_ address: UInt, index: UInt) -> UInt { address &<< 16 | index }

    @inlinable static func address(_ word: UInt) -> UInt { word &>> 16 }

    @inlinable static func index(_ word: UInt) -> UInt { word & 0xFFFF }

    @inlinable static func hasRoom(_ word: UInt) -> Bool { index(word) < capacity }

    /// The word without the claims that came too late.
    @inlinable static func settled(_ word: UInt) -> UInt {
        hasRoom(word) ? word : make(address(word), index: capacity)
    }
}
