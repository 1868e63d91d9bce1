// The receivers of news: they ask once, and are told of each change.

/// The clients that watch jobs, and the kinds of news that the driver wants.
package struct Audience {
    package var watches = JobWatches()
    /// Whether the driver wants the effect `roomMayBe`.
    package var awaitsRoom = false
    /// Whether the driver wants the effect `change`.
    package var followsChanges = false
    /// Whether the oldest waiting jobs are noted, for `oldestWaiting`.
    var notesOldestWaiting = false
}
