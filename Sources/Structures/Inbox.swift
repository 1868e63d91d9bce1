// The queue from other threads to a loop: many producers, one consumer, no lock, and no allocation
// per element.
//
// The inbox is a chain of blocks. One word names the last block and the number of its claimed
// slots. A producer claims the next slot by adding one to the word, writes its element into the
// slot and publishes it by the slot's flag. A producer that finds the block full puts a new block
// in the word's place. The consumer follows along the chain and gives each block back when it has
// left it.
//
// After A. Morrison and Y. Afek, "Fast Concurrent Queues for x86 Processors" (PPoPP 2013): claims
// by fetch-and-add in a chain of rings. Deviations: block and index are one word, so a producer
// that has claimed a slot knows its block, and no thread reaches into a freed block: there are no
// hazard pointers and no epochs. A consumer that finds a slot claimed but not yet published treats
// it as "arriving" instead of invalidating it: there is one consumer, and it has other work
// meanwhile.
//
// `word`: bits 16… address of the last block, bits 0…15 number of claims on its slots
//    index < capacity    open; that many slots are claimed
//    index ≥ capacity    the block is full; claims above the capacity came too late and are retried
//    address 0           closed for ever (the index is full, so that one comparison finds both)
//    address 1           open, no block yet (full as well)
// The index can't overflow into the address: each thread adds at most one to a block that it has
// seen with room, and there are fewer than 65,000 threads.
//
// Inbox.E1 publish
//    push: element, then slot's flag.store(true) ─▶ popFirst, takeRow: flag.load
//    release ─▶ acquire: carries the element.
// Inbox.E2 no lost wake
//    push: word.add, publication, then resting.load
//    rest: resting.store(true), then word.load
//    add, store and loads are sequentially consistent: either the producer sees that the consumer
//    rests and must be woken up, or the consumer sees the claim. If the claimed element is not
//    published yet, `rest` says "not everything was taken" and the consumer comes back by itself.
//    The publication may become visible after the load: only the claim counts, so a release is
//    enough for it.
// Inbox.E3 close
//    close: word.exchange(closed) ─▶ push: word.add or compareExchange
//    each claim is before the close, and the closer waits for its publication, or is refused.
// Inbox.E4 link
//    push: word.compareExchange(full → new block), then the old block's next.store
//    popFirst: next.load ─▶ the old block is left, and reused, or given back if it is the first
//    of all, which is a short one
//    the store is the last access of any producer to the old block: all its slots were published
//    before the consumer could leave it, and a producer whose claim came too late never looks
//    into it.
// Inbox.E5 reuse
//    Inbox+Spares.swift
//
// Without E1 the consumer reads a half-written element; without E2 an element sleeps with the loop;
// without E3 an element is neither handled nor refused; without E4 and E5 a producer writes into
// memory that has another owner.

public import Synchronization

/// Hands elements from any thread to one consumer, in the order in which they arrived.
///
/// Elements need not be sendable: each is sent to the inbox, and by the inbox to the consumer.
/// Elements left in the inbox are released when it is deinitialised. The owner bounds the number of
/// elements itself, before it pushes.
@usableFromInline
package final class Inbox<Element>: @unchecked Sendable {
    // SAFETY: a slot belongs to the producer that claimed it until it is published (Inbox.E1), then
    // to the consumer; a block to the thread that allocated it until it is linked (Inbox.E4), and
    // again to the thread that takes it as a spare (Inbox.E5).

    /// The outcome of a push, with the producer's next step.
    @usableFromInline
    package enum PushResult: Sendable {
        /// The consumer rests: signal it and wake it up.
        case first
        /// The consumer does not rest, or another producer is about to wake it up.
        case queued
        /// The inbox is closed: the element has been released and will not be handled.
        case closed
    }

    @usableFromInline typealias Block = InboxBlock<Element>

    /// The last block and its claimed slots; every producer writes it.
    @usableFromInline let word = Atomic<UInt>(InboxWord.unopened)
    /// Spare blocks (`Inbox+Spares.swift`).
    @usableFromInline package let spares = Atomic<UInt>(0)
    /// The first block of all, or 0 before there is one and after it was left.
    @usableFromInline let firstBlock = Atomic<UInt>(0)

    /// The number of blocks linked so far; written once for each.
    ///
    /// Publishes nothing.
    let linkedCount = Atomic<Int>(0)

    // Producers read the following in every push and only the consumer writes it: it is on another
    // cache line than the words that producers write.
    let spacing: (UInt, UInt, UInt, UInt) = (0, 0, 0, 0)

    /// Whether the consumer rests: the next producer must wake it up.
    @usableFromInline let resting = Atomic<Bool>(true)

    // `resting` changes when the consumer begins to rest and when it is woken up; the following
    // change with every element taken. On one cache line, each push would wait for that line.
    let distance: (UInt, UInt, UInt, UInt, UInt, UInt, UInt) = (0, 0, 0, 0, 0, 0, 0)

    /// The block and slot of the next element to take, as in `word`; written by the consumer.
    @usableFromInline let position = Atomic<UInt>(InboxWord.unopened)
    /// The number of blocks that the consumer has left.
    ///
    /// Publishes nothing.
    let leftCount = Atomic<Int>(0)

    /// Makes an open, empty inbox, which owns no block yet.
    package init() {}

    deinit {
        // No push can be in progress: a pushing thread holds a reference to the inbox.
        while popFirst() != nil {}
        releaseBlocks()
    }

    /// Whether the inbox is empty; may be out of date when the caller looks at the answer.
    ///
    /// An element that is just being pushed counts as in it.
    ///
    /// - Thread: any. The second half of Inbox.E2 if the consumer asks before it sleeps.
    @inlinable
    package var isEmpty: Bool {
        let position = position.load(ordering: .sequentiallyConsistent)
        let claimed = word.load(ordering: .sequentiallyConsistent)  // Inbox.E2
        return InboxWord.settled(claimed) == position
    }

    /// The number of elements, those just being pushed included.
    ///
    /// Exact while no thread pushes or takes. Pushes and takes do no work for it, so during them it
    /// can be off by a block.
    ///
    /// - Thread: any.
    @usableFromInline
    package var count: Int {
        if isEmpty { return 0 }
        let claimed = word.load(ordering: .relaxed)
        let taken = position.load(ordering: .relaxed)
        guard InboxWord.address(claimed) > InboxWord.unopenedAddress else { return 0 }
        let behind = (linkedCount.load(ordering: .relaxed) - 1) * Int(InboxWord.capacity)
        let arrivedCount = behind + Int(InboxWord.index(InboxWord.settled(claimed)))
        let isStarted = InboxWord.address(taken) > InboxWord.unopenedAddress
        let missing = Int(InboxWord.firstOfAll)
        let left = leftCount.load(ordering: .relaxed) * Int(InboxWord.capacity)
        // The slots that the short first block lacks count as taken.
        return max(0, arrivedCount - (isStarted ? left + Int(InboxWord.index(taken)) : missing))
    }

    /// Whether the inbox refuses every push; once true, always true.
    ///
    /// - Thread: any.
    @inlinable
    package var isClosed: Bool {
        // Inbox.E3
        InboxWord.address(word.load(ordering: .sequentiallyConsistent)) == InboxWord.closedAddress
    }

    /// Adds `element` at the end.
    ///
    /// - Returns: whether the caller must wake up the consumer.
    /// - Thread: any.
    /// - Blocks: never; one allocation per 64 elements if there is no spare block.
    @inlinable
    @inline(__always)
    package func push(_ element: consuming sending Element) -> PushResult {
        guard let claim = claim() else { return pushBeyond(consume element) }
        return publish(consume element, at: claim)
    }

    /// A slot owned by the thread that claimed it.
    ///
    /// It must be published: the consumer waits for it for ever otherwise.
    @usableFromInline
    package struct Claim: ~Copyable {
        @usableFromInline let word: UInt

        @inlinable
        init(word: UInt) { self.word = word }
    }

    /// Claims a slot in the last block: the first half of a push.
    ///
    /// - Returns: nil when the block is full or the inbox is closed; then call `push`.
    /// - Thread: any.
    @inlinable
    @inline(__always)
    package func claim() -> Claim? {
        // A guess first: once the block is full or the inbox closed, adding would only count up.
        guard InboxWord.hasRoom(word.load(ordering: .relaxed)) else { return nil }
        // Inbox.E2, Inbox.E3
        let claim = word.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
        return InboxWord.hasRoom(claim) ? Claim(word: claim) : nil
    }

    /// Takes the oldest element.
    ///
    /// - Returns: nil when the inbox is empty or the next element is still being written: `rest`
    ///   tells.
    /// - Thread: the consumer's.
    @inlinable
    package func popFirst() -> Element? {
        guard let place = readablePlace() else { return nil }
        let block = Block(at: InboxWord.address(place))
        let slot = InboxWord.index(place)
        guard block.isPublished(slot) else { return nil }  // Inbox.E1
        position.store(place &+ 1, ordering: .relaxed)
        return unsafe block.element(in: slot).move()
    }

    /// Where the next element is, or will be; nil as long as there is no block for it.
    @inlinable
    @inline(__always)
    func readablePlace() -> UInt? {
        let place = position.load(ordering: .relaxed)
        return InboxWord.hasRoom(place) ? place : nextBlock(after: place)
    }

    /// Asks producers to announce the next element, if every element was taken.
    ///
    /// Clear the signal that `.first` set before the first `popFirst`, never after it.
    ///
    /// - Returns: false when an element has arrived or is arriving: the consumer must come back by
    ///   itself and will not be woken up for it.
    /// - Thread: the consumer's.
    @inlinable
    package func rest() -> Bool {
        resting.store(true, ordering: .sequentiallyConsistent)  // Inbox.E2
        if isEmpty { return true }
        resting.store(false, ordering: .sequentiallyConsistent)
        return false
    }

    /// Whether the consumer rests, and so is woken up for the next element.
    ///
    /// - Thread: the consumer's.
    @inlinable
    package var isResting: Bool { resting.load(ordering: .relaxed) }

    /// A place between elements: behind all that were pushed before some moment.
    @usableFromInline
    package struct Mark {
        @usableFromInline let word: UInt

        @inlinable
        init(word: UInt) { self.word = word }
    }

    /// The place behind every element that was pushed so far or is being pushed.
    ///
    /// - Thread: any.
    @inlinable
    package var end: Mark {
        Mark(word: InboxWord.settled(word.load(ordering: .sequentiallyConsistent)))
    }

    /// Whether every element before a mark was taken.
    ///
    /// - Thread: the consumer's.
    @inlinable
    package func isTaken(upTo mark: Mark) -> Bool {
        position.load(ordering: .relaxed) == mark.word
    }

    /// Moves the elements that have arrived to the end of `elements`.
    ///
    /// - Parameter elements: reuse it, and draining allocates nothing.
    /// - Returns: false when an element was still being pushed, and it and those behind it were
    ///   left: they can be taken in a moment, and the consumer is not woken up for them.
    /// - Thread: the consumer's.
    /// - Blocks: never; takes the elements of one moment, so producers cannot delay it.
    @inlinable
    package func drain(into elements: inout [Element]) -> Bool {
        let end = end
        // If far more elements come than there is room for, the array grows once. An array that
        // doubles repeatedly copies its elements each time and touches twice as much memory.
        if InboxWord.address(end.word) != InboxWord.address(position.load(ordering: .relaxed)) {
            let expected = elements.count + count
            if expected > 2 * elements.capacity { elements.reserveCapacity(expected) }
        }
        while !isTaken(upTo: end) {
            guard takeRow(upTo: end, into: &elements) else { return false }
        }
        return true
    }

    /// Moves the elements that have arrived in one block to the end of `elements`.
    ///
    /// - Returns: false when some of them are not written yet.
    /// - Thread: the consumer's.
    @inlinable
    func takeRow(upTo end: Mark, into elements: inout [Element]) -> Bool {
        guard var place = readablePlace() else { return false }
        let block = Block(at: InboxWord.address(place))
        let isLast = InboxWord.address(end.word) == InboxWord.address(place)
        let last = isLast ? InboxWord.index(end.word) : InboxWord.capacity
        let count = Int(bitPattern: last &- InboxWord.index(place))
        elements.append(addingCapacity: count) { row in
            // Inbox.E1
            while InboxWord.index(place) != last, block.isPublished(InboxWord.index(place)) {
                row.append(unsafe block.element(in: InboxWord.index(place)).move())
                place &+= 1
            }
        }
        position.store(place, ordering: .relaxed)
        return InboxWord.index(place) == last
    }

    /// Refuses every push from now on, and moves the elements in it to the end of `elements`.
    ///
    /// - Parameter wait: yields to a producer that has claimed a slot and not yet published it.
    /// - Thread: the consumer's. May be called again; the inbox is empty then.
    /// - Blocks: for as long as producers are between two neighbouring instructions.
    package func close(into elements: inout [Element], waiting wait: () -> Void) {
        let last = word.exchange(InboxWord.closed, ordering: .sequentiallyConsistent)  // Inbox.E3
        guard InboxWord.address(last) != InboxWord.closedAddress else { return }
        while position.load(ordering: .relaxed) != InboxWord.settled(last) {
            if let element = popFirst() { elements.append(element) } else { wait() }
        }
        releaseBlocks()
        position.store(InboxWord.closed, ordering: .sequentiallyConsistent)
    }

    /// Publishes an element in a claimed slot: the second half of a push.
    ///
    /// - Returns: whether the caller must wake up the consumer.
    @inlinable
    @inline(__always)
    package func publish(
        _ element: consuming sending Element, at claim: consuming Claim
    ) -> PushResult {
        let block = Block(at: InboxWord.address(claim.word))
        let slot = InboxWord.index(claim.word)
        unsafe block.element(in: slot).initialize(to: element)
        block.publish(slot)  // Inbox.E1
        guard resting.load(ordering: .sequentiallyConsistent) else { return .queued }  // Inbox.E2
        return resting.exchange(false, ordering: .sequentiallyConsistent) ? .first : .queued
    }

    /// Pushes into a new block, or into one that another producer has just linked.
    @inline(never)
    @usableFromInline
    func pushBeyond(_ element: consuming sending Element) -> PushResult {
        var new: Block?
        while true {
            let seen = word.load(ordering: .sequentiallyConsistent)
            if InboxWord.address(seen) == InboxWord.closedAddress {
                if let new { keep(new) }
                return .closed
            }
            if InboxWord.hasRoom(seen) {
                guard let claim = claim() else { continue }
                if let new { keep(new) }
                return publish(element, at: claim)
            }
            let isFirst = InboxWord.address(seen) == InboxWord.unopenedAddress
            let slot = isFirst ? InboxWord.firstOfAll : 0
            let block = new ?? (isFirst ? Block(from: slot) : makeBlock())
            let place = InboxWord.make(block.address, index: slot)
            let isIn = word.compareExchange(
                expected: seen, desired: place + 1, ordering: .sequentiallyConsistent
            ).exchanged
            guard isIn else {
                // A short block is of no use elsewhere.
                if isFirst { block.deallocate(from: slot) } else { new = block }
                continue
            }
            link(block, behind: InboxWord.address(seen))
            return publish(element, at: Claim(word: place))
        }
    }

    private func link(_ block: Block, behind address: UInt) {
        linkedCount.wrappingAdd(1, ordering: .relaxed)
        if address == InboxWord.unopenedAddress {
            firstBlock.store(block.address, ordering: .releasing)  // Inbox.E4
        } else {
            Block(at: address).next = block.address  // Inbox.E4
        }
    }

    /// The start of the block after the one that was fully taken; nil if there is none yet.
    @inline(never)
    @usableFromInline
    func nextBlock(after place: UInt) -> UInt? {
        let address = InboxWord.address(place)
        guard address > InboxWord.unopenedAddress else {
            let first = firstBlock.load(ordering: .acquiring)  // Inbox.E4
            guard address == InboxWord.unopenedAddress, first != 0 else { return nil }
            return InboxWord.make(first, index: InboxWord.firstOfAll)
        }
        let left = Block(at: address)
        let next = left.next  // Inbox.E4
        guard next != 0 else { return nil }
        let start = InboxWord.make(next, index: 0)
        position.store(start, ordering: .relaxed)
        leftCount.store(leftCount.load(ordering: .relaxed) + 1, ordering: .relaxed)
        if isFirst(left) { releaseFirst(left) } else { keep(left) }
        return start
    }

    /// Whether a block is the short one that an inbox begins with; on the consumer's thread.
    private func isFirst(_ block: Block) -> Bool {
        block.address == firstBlock.load(ordering: .relaxed)
    }

    /// Gives the memory of the first block back once it was left.
    private func releaseFirst(_ block: Block) {
        // A later block may be given the same address.
        firstBlock.store(0, ordering: .relaxed)
        block.deallocate(from: InboxWord.firstOfAll)
    }

    /// Gives back the memory of an inbox from which every element was taken.
    private func releaseBlocks() {
        let address = InboxWord.address(position.load(ordering: .relaxed))
        if address > InboxWord.unopenedAddress {
            let block = Block(at: address)
            if isFirst(block) { releaseFirst(block) } else { block.deallocate() }
        }
        releaseSpares()
    }
}

/// The word of an inbox: a block's address and an index into it.
@usableFromInline
enum InboxWord {
    /// The number of slots of a block; the same for all elements, so that a word says it all.
    @inlinable static var capacity: UInt { InboxBlock<Void>.capacity }
    /// The first slot of the first block of all, which is a short one: many inboxes never have more
    /// than a few elements at a time.
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
