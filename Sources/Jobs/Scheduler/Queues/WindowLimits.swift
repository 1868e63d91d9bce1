// The part of a stored queue that is in memory.

/// The size of the part of a queue that is in memory: once for jobs in turn, once for delayed jobs.
package struct WindowLimits: Sendable {
    /// How many jobs.
    package var countMax = 8_192
    /// How many bytes their payloads may have together.
    package var byteCountMax = 16 << 20
    /// How many come with one load: neither thread is kept from others for long.
    package var loadCountMax = 1_024
    /// How many rows of before are counted at once, before others have their turn.
    package var countedAtOnce = 2_000
    /// How many jobs one transaction fires; more of them take several.
    package var changedAtOnce = 1_000
    /// How many it lets run again, drops or takes back: each takes statements of its own.
    package var settledAtOnce: Int { max(1, changedAtOnce / 4) }

    /// The limits of the daemon.
    package init() {}
}
