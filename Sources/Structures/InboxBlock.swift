// One block of an inbox: a row of slots in memory of its own. Inbox.swift says what the slots mean
// to producers and consumer, and in which order they may touch them.
//
// Layout: slots, each an element followed by one byte that says whether the element is there · the
// next block's address (8 bytes). A short block is the end of a whole one: it has the last slots
// only, and its address is where the first slot would be.

public import Synchronization

/// A block of slots, by its address.
///
/// A slot has an element once it is published. All slots are cleared before a block is reused.
@usableFromInline
struct InboxBlock<Element> {
    @usableFromInline let address: UInt

    /// The number of elements that a block has room for.
    ///
    /// A block is allocated once per that many pushes, and an inbox in use keeps some as spares.
    @inlinable static var capacity: UInt { 64 }

    /// The block at an address that was read from a block's `address`.
    @inlinable
    init(at address: UInt) { self.address = address }

    /// Allocates a block with no published slot and no successor.
    ///
    /// - Parameter first: the first slot that there is memory for; the slots before it are never
    ///   used.
    init(from first: UInt = 0) {
        let missing = Self.stride * Int(first)
        let byteCount = Self.nextOffset + MemoryLayout<UInt>.size - missing
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: byteCount, alignment: max(16, MemoryLayout<Element>.alignment))
        address = UInt(bitPattern: memory) - UInt(missing)
        // Linux hands out addresses of at most 48 bits unless asked for more, in mmap(2)'s hint.
        precondition(address >> 48 == 0, "an inbox needs addresses of 48 bits, not \(address)")
        // No slot published, no successor: all zero, in one go.
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
    }

    /// Gives the memory back; its elements must have been moved out.
    ///
    /// - Parameter first: the value that it was allocated with.
    func deallocate(from first: UInt = 0) {
        unsafe slotStart(first).deallocate()
    }

    /// Marks every slot as unpublished; only for the block's sole owner.
    ///
    /// This brings all cache lines of the block to the caller's core at once. Otherwise each line
    /// would come with the first push into it, and the next claim, a locked instruction, would wait
    /// for that.
    func clear() {
        for slot in 0..<Self.capacity {
            unsafe flag(of: slot).pointee.store(false, ordering: .relaxed)
        }
    }

    /// The address of the next block, or 0; links the spares as well.
    @inlinable var next: UInt {
        get { unsafe nextWord.pointee.load(ordering: .acquiring) }  // Inbox.E4
        // Inbox.E4
        nonmutating set { unsafe nextWord.pointee.store(newValue, ordering: .releasing) }
    }

    /// Whether a slot's element can be taken.
    @inlinable
    func isPublished(_ slot: UInt) -> Bool {
        unsafe flag(of: slot).pointee.load(ordering: .acquiring)  // Inbox.E1
    }

    /// Lets the consumer take a slot's element.
    @inlinable
    func publish(_ slot: UInt) {
        unsafe flag(of: slot).pointee.store(true, ordering: .releasing)  // Inbox.E1
    }

    /// The memory of a slot's element.
    @inlinable
    func element(in slot: UInt) -> UnsafeMutablePointer<Element> {
        unsafe slotStart(slot).assumingMemoryBound(to: Element.self)
    }

    @inlinable var start: UnsafeMutableRawPointer {
        // SAFETY: an address is always that of an allocated block or, for a short block, the place
        // where it would begin if it were whole.
        unsafe UnsafeMutableRawPointer(bitPattern: address).unsafelyUnwrapped
    }

    @inlinable var nextWord: UnsafeMutablePointer<Atomic<UInt>> {
        // SAFETY: eight bytes that were initialised as zero; an Atomic is as bare as its value.
        unsafe (start + Self.nextOffset).assumingMemoryBound(to: Atomic<UInt>.self)
    }

    @inlinable
    func flag(of slot: UInt) -> UnsafeMutablePointer<Atomic<Bool>> {
        // SAFETY: as `nextWord`, in a byte of the slot that has no other use.
        unsafe (slotStart(slot) + Self.flagOffset).assumingMemoryBound(to: Atomic<Bool>.self)
    }

    @inlinable
    func slotStart(_ slot: UInt) -> UnsafeMutableRawPointer {
        unsafe start + Self.stride &* Int(bitPattern: slot)
    }

    /// Behind the slots: with 64 of them, it is aligned for every element type.
    @inlinable static var nextOffset: Int { stride &* Int(bitPattern: capacity) }

    /// Behind the element, where it may use padding that the element's alignment leaves.
    @inlinable static var flagOffset: Int { MemoryLayout<Element>.size }

    /// The distance from one slot to the next.
    @inlinable static var stride: Int {
        let alignment = MemoryLayout<Element>.alignment
        return (flagOffset + alignment) & ~(alignment - 1)
    }
}
