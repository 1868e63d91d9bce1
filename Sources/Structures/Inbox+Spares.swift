// The spare blocks that an inbox keeps for the next burst: a stack that any thread pushes to and
// takes from.
//
// Inbox.E5 reuse
//    popFirst: spares.compareExchange(old block in front) ─▶ push: spares.exchange(0)
//    carries the blocks, with everything done to them, to their next owner; each change of the word
//    is a read-modify-write, so the last one carries them all. A thread that takes one block takes
//    all, uses the first and puts the others back: no thread looks into a block that may have
//    another owner by now, and the same block in front again (ABA) does no harm. The thread that
//    takes a block clears its flags while it alone owns it: the plain stores reach the producers
//    that claim in it by word.compareExchange ─▶ word.add, and the consumer by Inbox.E4.
//
// `spares`: bits 16… address of the first spare block, each knows the next; bits 0…15 their number;
//    0 for none

internal import Synchronization

extension Inbox {
    /// Returns a block with no published slot and no successor, owned by the caller.
    func makeBlock() -> Block {
        let chain = spares.exchange(0, ordering: .acquiringAndReleasing)  // Inbox.E5
        guard chain != 0 else { return Block() }
        let block = Block(at: InboxWord.address(chain))
        let next = block.next
        if next != 0 { putBack(InboxWord.make(next, index: InboxWord.index(chain) - 1)) }
        block.next = 0
        block.clear()
        return block
    }

    /// Keeps a block as a spare, or gives its memory back if there are enough spares.
    func keep(_ block: Block) {
        var chain = spares.load(ordering: .relaxed)
        while let longer = chained(block, before: chain) {
            let (isKept, seen) = spares.compareExchange(
                expected: chain, desired: longer, ordering: .acquiringAndReleasing)  // Inbox.E5
            if isKept { return }
            chain = seen
        }
        block.deallocate()
    }

    /// - Returns: the chain with the caller's block in front; nil if it is long enough.
    private func chained(_ block: Block, before chain: UInt) -> UInt? {
        guard InboxWord.index(chain) < LayoutLimits.keptBlockCount else { return nil }
        block.next = InboxWord.address(chain)
        return InboxWord.make(block.address, index: InboxWord.index(chain) + 1)
    }

    /// Puts back the rest of a chain that was taken.
    private func putBack(_ left: UInt) {
        var chain = left
        while !spares.compareExchange(
            expected: 0, desired: chain, ordering: .acquiringAndReleasing
        ).exchanged {  // Inbox.E5
            // The consumer has put spares there meanwhile.
            let others = spares.exchange(0, ordering: .acquiringAndReleasing)  // Inbox.E5
            forEach(in: others) { block in
                if let longer = chained(block, before: chain) {
                    chain = longer
                } else {
                    block.deallocate()
                }
            }
        }
    }

    private func forEach(in chain: UInt, _ body: (Block) -> Void) {
        var address = InboxWord.address(chain)
        while address != 0 {
            let block = Block(at: address)
            address = block.next
            body(block)
        }
    }

    /// Gives back the memory of all spare blocks.
    func releaseSpares() {
        // Inbox.E5
        forEach(in: spares.exchange(0, ordering: .acquiringAndReleasing)) { $0.deallocate() }
    }
}
