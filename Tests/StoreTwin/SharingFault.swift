// Faults that can be planted in the model of a shared database and of its nodes: a simulation that
// is worth something finds each.

/// One thing that is done wrongly.
package enum SharingFault: String, CaseIterable, Sendable {
    /// The epoch of a seat whose threads are taken stays.
    case keepsEpoch
    /// A seat is taken although a session has its lock.
    case ignoresLock
    /// Attempts that may have begun are not counted at a takeover.
    case countsNoBeginnings
    /// An attempt that was recorded still counts as running after a takeover.
    case keepsStarts
    /// A claim takes no new range of numbers.
    case keepsNumbers
    /// A claim counts before it is committed.
    case claimsUnconfirmed
    /// A thread is given away with jobs in turn.
    case givesBusyThreads
    /// Attempts begin without trust.
    case beginsWithoutTrust
    /// Further attempts begin before the ones before are recorded.
    case beginsUnrecorded
    /// The attempts of an earlier run are forgotten at the restart.
    case forgetsLog
    /// A claim that has failed is not tried again.
    case claimsOnce
    /// The pauses of a thread stay with its owner.
    case forgetsPauses
    /// The owner of a schedule's former thread makes jobs of it too.
    case runsAnywhere
    /// A seat is taken in another session than that of the look that decided it.
    case takesUnseen
}
