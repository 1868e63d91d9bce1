// The blocks that an inbox keeps for the next burst: a stack of them, any thread takes and puts by.
//
// E5 reuse         popFirst: spares.compareExchange(old block in front) ─▶ push: spares.exchange(0)
//    carries the blocks, with everything done to them, to their next owner; each change of the word
//    is one of those that began it, so the last one carries them all. Who takes one takes all, uses
//    the first and puts the others back: nobody looks into a block that may be another's by now, and
//    that the same block is in front again does no harm. Who takes it clears its flags while it is
//    his alone: the plain stores reach those who claim in it by word.compareExchange ─▶ word.add,
//    and the consumer by E4.
//
// `spares`: bits 16… address of the first block to use again, each knows the next; bits 0…15 how many
//    there are; 0 for none

internal import Synchronization

extension Inbox {
    /// How many blocks it keeps for the next burst.
    ///
    /// - Thread: any; out of date as soon as it is known.
    package var spareBlockCount: Int { Int(Word.index(spares.load(ordering: .relaxed))) }

    /// A block in which nothing is published and with nothing behind it, owned by the caller.
    func makeBlock() -> Block {
        let chain = spares.exchange(0, ordering: .acquiringAndReleasing)  // E5
        guard chain != 0 else { return Block() }
        let block = Block(at: Word.address(chain))
        let next = block.next
        if next != 0 { putBack(Word.make(next, index: Word.index(chain) - 1)) }
        block.next = 0
        block.clear()
        return block
    }

    /// Puts a block by for the next time, or gives its memory back if enough are there already.
    func keep(_ block: Block) {
        var chain = spares.load(ordering: .relaxed)
        while let longer = chained(block, before: chain) {
            let (isKept, seen) = spares.compareExchange(
                expected: chain, desired: longer, ordering: .acquiringAndReleasing)  // E5
            if isKept { return }
            chain = seen
        }
        block.deallocate()
    }

    /// - Returns: the chain with a block of the caller's in front; nil if it is long enough.
    private func chained(_ block: Block, before chain: UInt) -> UInt? {
        guard Word.index(chain) < Limits.keptBlockCount else { return nil }
        block.next = Word.address(chain)
        return Word.make(block.address, index: Word.index(chain) + 1)
    }

    /// Puts back what is left of a chain that was taken.
    private func putBack(_ left: UInt) {
        var chain = left
        while !spares.compareExchange(
            expected: 0, desired: chain, ordering: .acquiringAndReleasing
        ).exchanged {  // E5
            // The consumer has put blocks by meanwhile.
            let others = spares.exchange(0, ordering: .acquiringAndReleasing)  // E5
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
        var address = Word.address(chain)
        while address != 0 {
            let block = Block(at: address)
            address = block.next
            body(block)
        }
    }

    /// Gives back the memory of all that are kept.
    func releaseSpares() {
        forEach(in: spares.exchange(0, ordering: .acquiringAndReleasing)) { $0.deallocate() }  // E5
    }
}
