// One block of an inbox: a row of slots in memory of its own. What the slots mean to producers and
// consumer, and in which order they may touch them, is told in Inbox.swift.
//
// Layout: next block's address (8 bytes) · turn (4) · padding (4) · slots, each with an element and
// behind it its turn (4 bytes).

public import Synchronization

/// A block of slots, by its address.
///
/// A slot holds an element once its turn equals the block's. A block that is used again gets the
/// next turn, so that nobody has to go through its slots and clear them.
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

    /// Allocates a block in which no slot has its turn yet.
    init() {
        let count = Self.slotsOffset + Self.stride * Int(Self.capacity)
        let start = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: Self.alignment)
        unsafe start.initializeMemory(as: UInt8.self, repeating: 0, count: count)
        address = UInt(bitPattern: start)
        // Linux hands out addresses of at most 48 bits unless asked for more, in mmap(2)'s hint.
        precondition(address >> 48 == 0, "an inbox needs addresses of 48 bits, not \(address)")
    }

    /// Gives the memory back; the elements have been moved out.
    func deallocate() {
        unsafe start.deallocate()
    }

    /// The turn of this use of the block; changed only by who owns the block alone.
    @inlinable var turn: UInt32 {
        get { unsafe start.load(fromByteOffset: 8, as: UInt32.self) }
        nonmutating set { unsafe start.storeBytes(of: newValue, toByteOffset: 8, as: UInt32.self) }
    }

    /// The address of the block that follows, or 0; also among those that were put by.
    @inlinable var next: UInt {
        get { unsafe nextWord.pointee.load(ordering: .acquiring) }  // E4
        nonmutating set { unsafe nextWord.pointee.store(newValue, ordering: .releasing) }  // E4
    }

    /// Whether a slot's element can be taken.
    @inlinable
    func isPublished(_ slot: UInt) -> Bool {
        unsafe turnWord(of: slot).pointee.load(ordering: .acquiring) == turn  // E1
    }

    /// Lets the consumer take a slot's element.
    @inlinable
    func publish(_ slot: UInt) {
        unsafe turnWord(of: slot).pointee.store(turn, ordering: .releasing)  // E1
    }

    /// The memory of a slot's element.
    @inlinable
    func element(in slot: UInt) -> UnsafeMutablePointer<Element> {
        unsafe slotStart(slot).assumingMemoryBound(to: Element.self)
    }

    @inlinable var start: UnsafeMutableRawPointer {
        // SAFETY: an address is only ever that of an allocated block.
        unsafe UnsafeMutableRawPointer(bitPattern: address).unsafelyUnwrapped
    }

    @inlinable var nextWord: UnsafeMutablePointer<Atomic<UInt>> {
        // SAFETY: eight bytes that were initialised as zero; an Atomic is as bare as its value.
        unsafe start.assumingMemoryBound(to: Atomic<UInt>.self)
    }

    @inlinable
    func turnWord(of slot: UInt) -> UnsafeMutablePointer<Atomic<UInt32>> {
        // SAFETY: as `nextWord`, in four bytes of the slot that are nothing else's.
        unsafe (slotStart(slot) + Self.turnOffset).assumingMemoryBound(to: Atomic<UInt32>.self)
    }

    @inlinable
    func slotStart(_ slot: UInt) -> UnsafeMutableRawPointer {
        unsafe start + (Self.slotsOffset &+ Self.stride &* Int(bitPattern: slot))
    }

    @inlinable static var alignment: Int { max(16, MemoryLayout<Element>.alignment) }

    @inlinable static var slotsOffset: Int { alignment }

    /// Behind the element, where it may fill up what its alignment would leave unused.
    @inlinable static var turnOffset: Int { (MemoryLayout<Element>.size + 3) & ~3 }

    /// From one slot to the next: a multiple of the turn's alignment and of the element's.
    @inlinable static var stride: Int {
        let unit = max(4, MemoryLayout<Element>.alignment)
        return (turnOffset + 4 + unit - 1) & ~(unit - 1)
    }
}
