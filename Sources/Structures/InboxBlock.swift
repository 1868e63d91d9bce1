// One block of an inbox: a row of slots in memory of its own. What the slots mean to producers and
// consumer, and in which order they may touch them, is told in Inbox.swift.
//
// Layout: slots, each with an element and behind it one byte, which says whether the element is
// there · next block's address (8 bytes). A short block is the end of a whole one: it has the last
// slots only, and its address is where the first would be.

public import Synchronization

/// A block of slots, by its address.
///
/// A slot holds an element once it is published. Who is about to use the block again clears them all.
@usableFromInline
struct InboxBlock<Element> {
    @usableFromInline let address: UInt

    /// How many elements a block has room for.
    ///
    /// A block is allocated once for so many pushes, and an inbox that is used at all keeps some.
    @inlinable static var capacity: UInt { 64 }

    /// The block at an address that a block has given before.
    @inlinable
    init(at address: UInt) { self.address = address }

    /// Allocates a block in which nothing is published, and behind which there is none.
    ///
    /// - Parameter first: the first slot that there is memory for; the others are never asked for.
    init(from first: UInt = 0) {
        let missing = Self.stride * Int(first)
        let byteCount = Self.nextOffset + MemoryLayout<UInt>.size - missing
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: byteCount, alignment: max(16, MemoryLayout<Element>.alignment))
        address = UInt(bitPattern: memory) - UInt(missing)
        // Linux hands out addresses of at most 48 bits unless asked for more, in mmap(2)'s hint.
        precondition(address >> 48 == 0, "an inbox needs addresses of 48 bits, not \(address)")
        // Nothing published, nothing behind: all zero, in one go.
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
    }

    /// Gives the memory back; the elements have been moved out.
    ///
    /// - Parameter first: as it was allocated.
    func deallocate(from first: UInt = 0) {
        unsafe slotStart(first).deallocate()
    }

    /// Takes back what was published; by who owns the block alone.
    ///
    /// It brings the whole block to the caller's core, all its lines at once. Without it each line
    /// would come with the first push into it, and the next claim, a locked instruction, would wait
    /// for that.
    func clear() {
        for slot in 0..<Self.capacity {
            unsafe flag(of: slot).pointee.store(false, ordering: .relaxed)
        }
    }

    /// The address of the block that follows, or 0; also among those that were put by.
    @inlinable var next: UInt {
        get { unsafe nextWord.pointee.load(ordering: .acquiring) }  // E4
        nonmutating set { unsafe nextWord.pointee.store(newValue, ordering: .releasing) }  // E4
    }

    /// Whether a slot's element can be taken.
    @inlinable
    func isPublished(_ slot: UInt) -> Bool {
        unsafe flag(of: slot).pointee.load(ordering: .acquiring)  // E1
    }

    /// Lets the consumer take a slot's element.
    @inlinable
    func publish(_ slot: UInt) {
        unsafe flag(of: slot).pointee.store(true, ordering: .releasing)  // E1
    }

    /// The memory of a slot's element.
    @inlinable
    func element(in slot: UInt) -> UnsafeMutablePointer<Element> {
        unsafe slotStart(slot).assumingMemoryBound(to: Element.self)
    }

    @inlinable var start: UnsafeMutableRawPointer {
        // SAFETY: an address is only ever that of an allocated block, or, of a short one, where it
        // would begin if it were whole.
        unsafe UnsafeMutableRawPointer(bitPattern: address).unsafelyUnwrapped
    }

    @inlinable var nextWord: UnsafeMutablePointer<Atomic<UInt>> {
        // SAFETY: eight bytes that were initialised as zero; an Atomic is as bare as its value.
        unsafe (start + Self.nextOffset).assumingMemoryBound(to: Atomic<UInt>.self)
    }

    @inlinable
    func flag(of slot: UInt) -> UnsafeMutablePointer<Atomic<Bool>> {
        // SAFETY: as `nextWord`, in a byte of the slot that is nothing else's.
        unsafe (slotStart(slot) + Self.flagOffset).assumingMemoryBound(to: Atomic<Bool>.self)
    }

    @inlinable
    func slotStart(_ slot: UInt) -> UnsafeMutableRawPointer {
        unsafe start + Self.stride &* Int(bitPattern: slot)
    }

    /// Behind the slots: with 64 of them, it is aligned whatever an element is.
    @inlinable static var nextOffset: Int { stride &* Int(bitPattern: capacity) }

    /// Behind the element, where it may fill up what its alignment would leave unused.
    @inlinable static var flagOffset: Int { MemoryLayout<Element>.size }

    /// From one slot to the next.
    @inlinable static var stride: Int {
        let alignment = MemoryLayout<Element>.alignment
        return (flagOffset + alignment) & ~(alignment - 1)
    }
}
