// The maxima of the structures, each with its reason.
//
// A structure here is as large as its owner lets it become: how many jobs may wait on a thread is
// the owner's to decide and to tell its callers. What stands here is what the layouts can hold, and
// how much memory is worth keeping for the next burst.
//
// A note on all generic files of this target: their storage is not private and everything is
// inlinable, because the other targets get unspecialised code otherwise, which takes 1,200 ns
// instead of 80 to insert and remove a timer among 100,000. The type itself must be
// `@usableFromInline` as well: without that the compiler ignores `@inlinable` in a package type
// and says nothing.

/// The limits that the layouts of this target impose or choose.
@usableFromInline
package enum Limits {
    /// The largest number of slots in one table: an index is 31 bits and the last one means "none".
    @inlinable package static var slotCountMax: Int { Int(Int32.max) }

    /// The number of generations of one slot: the slot is then retired, so that no handle repeats.
    @inlinable package static var generationMax: UInt32 { UInt32.max }

    /// The number of timers in one heap, fewer than there are numbers for them.
    @inlinable package static var timerCountMax: Int { 1 << 30 }

    /// The largest number that tells timers of equal times apart: then all are numbered anew.
    @inlinable package static var timerNumberMax: UInt32 { UInt32(Int32.max) }

    /// The number of dead entries that a heap of timers always keeps: below that, looking for them
    /// costs more than what they occupy, 1 KB.
    @inlinable package static var keptDeadCount: Int { 64 }

    /// The number of slots that a queue keeps when it runs empty: more is returned to the system.
    ///
    /// Below that a steady trickle never allocates; above it a single burst would be paid for with
    /// memory for ever.
    @inlinable package static var keptSlotCount: Int { 1024 }

    /// The number of blocks that an inbox keeps when it runs empty: 4,096 elements, or 100 KB of
    /// perform requests, after a burst of as many.
    @inlinable package static var keptBlockCount: UInt { 64 }

    /// The size of a queue's first ring: enough for most queues for ever.
    @inlinable package static var firstSlotCount: Int { 16 }

    /// The largest heap or table that is checked whole after each change in debug builds: the check
    /// is linear, and a test that fills a heap must not become quadratic.
    @inlinable package static var checkedCountMax: Int { 64 }
}
