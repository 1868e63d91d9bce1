// The seam between the main thread's run loop and libdispatch: a descriptor to wait on, and a call
// that runs the waiting work. Nothing is imported from Dispatch, and nothing of it is needed to
// link.

internal import CLinux
internal import Glibc
internal import Synchronization

/// A queue of work for one thread, which other code keeps and that thread's run loop serves.
package protocol MainQueue: AnyObject, Sendable {
    /// Readable while work waits.
    var descriptor: CInt { get }

    /// Runs the work that waits; what is queued meanwhile makes the descriptor readable again.
    ///
    /// - Thread: the one that the queue is for.
    func drain()
}

/// libdispatch's main queue, on which Swift's main actor runs too.
///
/// - Source: swift-corelibs-libdispatch, private/queue_private.h: what it exports for CFRunLoop.
package final class DispatchMainQueue: MainQueue {
    package let descriptor: CInt

    /// Whether the descriptor is made: from then on asking for it can't fail.
    private static let isMade = Atomic<Bool>(false)

    /// The main queue; nil in a program without libdispatch.
    ///
    /// It belongs to libdispatch, and so does the descriptor, which is made by the first call and
    /// stays open until the process ends.
    ///
    /// - Throws: EMFILE, ENFILE or ENOMEM when there is no room for the descriptor.
    package init?() throws(SystemError) {
        guard clinux_has_main_queue() != 0 else { return nil }
        try Self.findRoom()
        descriptor = clinux_main_queue_descriptor()
        if descriptor < 0 { return nil }
        Self.isMade.store(true, ordering: .relaxed)
    }

    /// Looks whether there is room for the descriptor.
    ///
    /// libdispatch makes it when first asked, and ends the program without a word if it can't.
    private static func findRoom() throws(SystemError) {
        if isMade.load(ordering: .relaxed) { return }
        _ = Descriptor(
            owning: try retrying("eventfd of the main queue") { eventfd(0, CInt(EFD_CLOEXEC)) })
    }

    /// Whether the main thread has left the main queue to others, which it does as it ends.
    ///
    /// That it does so by `dispatch_main()` can't be seen otherwise: it ends, but stays. While no
    /// descriptor is to be had it is not known, and the answer is no.
    ///
    /// - Thread: any thread.
    /// - Blocks: never.
    package static var isLeft: Bool {
        do throws(SystemError) { try findRoom() } catch { return false }
        defer { isMade.store(true, ordering: .relaxed) }
        return clinux_main_queue_is_left() != 0
    }

    package func drain() {
        // Read first: what is queued while the others run is then announced anew.
        var count: UInt64 = 0
        _ = unsafe Glibc.read(descriptor, &count, 8)
        clinux_drain_main_queue()
    }
}
