// The maxima of the structures, each with its reason.
//
// A structure here grows as large as its owner lets it: the owner bounds the jobs that wait on a
// thread, and tells its callers. The limits here are what the layouts have room for, and how much
// memory is worth keeping for the next burst.
//
// A note on all generic files of this target: their storage is not private and everything is
// inlinable, because other targets get unspecialised code otherwise, which makes each operation
// several times slower. The type itself must be `@usableFromInline` as well: without that the
// compiler silently ignores `@inlinable` in a package type.

/// The limits that the layouts of this target impose or choose.
@usableFromInline
package enum LayoutLimits {
    /// The largest number of slots in one table: an index is 31 bits and the last one means "none".
    @inlinable package static var slotCountMax: Int { Int(Int32.max) }

    /// The number of generations of one slot.
    ///
    /// The slot is then retired, so that no handle repeats.
    @inlinable package static var generationMax: UInt32 { UInt32.max }

    /// The number of timers in one heap, smaller than the number of timer numbers.
    @inlinable package static var timerCountMax: Int { 1 << 30 }

    /// The largest number that tells timers of equal times apart; then all are renumbered.
    @inlinable package static var timerNumberMax: UInt32 { UInt32(Int32.max) }

    /// The number of dead entries that a timer heap always keeps: below it, a search for them costs
    /// more than their memory, 1 KB.
    @inlinable package static var keptDeadCount: Int { 64 }

    /// The number of slots that an empty queue keeps; more are given back to the system.
    ///
    /// Below it a steady trickle never allocates; above it a single burst would cost memory for
    /// ever.
    @inlinable package static var keptSlotCount: Int { 1024 }

    /// The number of spare blocks of an inbox: 4,096 elements, or 100 KB of perform requests, after
    /// a burst of that size.
    @inlinable package static var keptBlockCount: UInt { 64 }

    /// The size of a queue's first ring: enough for most queues for ever.
    @inlinable package static var firstSlotCount: Int { 16 }

    /// The largest heap or table that is fully checked after each change in debug builds.
    ///
    /// The check is linear, and a test that fills a heap must not become quadratic.
    @inlinable package static var checkedCountMax: Int { 64 }
}
