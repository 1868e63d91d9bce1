// How other threads hand things to a loop: many producers, one consumer, no lock.
//
// A stack of nodes that producers push onto and that the consumer takes whole, with one exchange,
// and turns round: after R. K. Treiber, "Systems Programming: Coping with Parallelism" (IBM research
// report RJ 5118, 1986). Deviations: there is no pop of a single node, and so no ABA problem (a
// push that finds the same address as before finds the head itself, whatever happened meanwhile);
// and the head has a value for "closed". The inbox wakes nobody: it tells its caller when to.
//
// Values of `head`
//    0        open, nothing in it
//    1        closed for ever, nothing in it (a node's address is never odd)
//    other    open; the address of the node pushed last, whose `next` is such a value or 0
//
// E1 publish       push: head.compareExchange ─▶ drain, close: head.exchange
//    carries the element and `next` of each node pushed before.
// E2 no lost wake  push: head.compareExchange, then the caller's signal or look at "sleeps"
//                  consumer: its clearing of the signal or setting of "sleeps", then head.load
//    all four sequentially consistent: either the producer sees that it must wake the consumer,
//    or the consumer sees the element.
// E3 close         close: head.exchange(1) ─▶ push: head.compareExchange, which fails from then on
//    each push is before the close in the order of `head`, and its element is handed to the closer,
//    or after it, and is refused.
//
// Without E1 the consumer reads a half-written node; without E2 an element sleeps with the loop;
// without E3 an element is neither handled nor refused. All operations on `head` are sequentially
// consistent, which costs nothing beyond acquire and release where they exchange on x86 and arm64.

public import Synchronization

/// Hands elements from any thread to one consumer, in the order in which they arrived.
///
/// Elements need not be sendable: each is sent to the inbox, and by the inbox to the consumer. What
/// is still in the inbox when it is deinitialised is released there. How many may wait is the
/// owner's to decide, before it pushes.
@usableFromInline
package final class Inbox<Element>: Sendable {
    /// What became of a pushed element, and what its producer has to do.
    @usableFromInline
    package enum PushResult: Sendable {
        /// The inbox was empty: signal the consumer and wake it.
        case first
        /// Others were there before: whoever pushed the first of them wakes the consumer.
        case queued
        /// The inbox is closed: the element has been released, and nobody will see it.
        case closed
    }

    @usableFromInline
    struct Node {
        @usableFromInline var next: UInt
        @usableFromInline let element: Element

        @inlinable
        init(next: UInt, element: Element) {
            self.next = next
            self.element = element
        }
    }

    // SAFETY: the address in `head` belongs to the inbox, and who exchanges it for another value
    // owns the whole chain of nodes behind it. A node is written by its producer before it is
    // published (E1) and never again.
    @usableFromInline let head = Atomic<UInt>(Head.empty)

    /// Makes an open, empty inbox.
    @inlinable
    package init() {}

    deinit {
        var unused: [Element] = []
        take(head.load(ordering: .sequentiallyConsistent), into: &unused)
    }

    /// Whether nothing is in it; may have changed by the time the caller looks at the answer.
    ///
    /// - Thread: any. The second half of E2 if the consumer asks before it sleeps.
    @inlinable
    package var isEmpty: Bool {
        head.load(ordering: .sequentiallyConsistent) <= Head.closed  // E2
    }

    /// Whether it refuses whatever is pushed; once true, always true.
    ///
    /// - Thread: any.
    @inlinable
    package var isClosed: Bool {
        head.load(ordering: .sequentiallyConsistent) == Head.closed  // E3
    }

    /// Adds `element` behind those that arrived before.
    ///
    /// - Returns: whether the caller has to wake the consumer.
    /// - Thread: any.
    /// - Blocks: never; one allocation, and a retry for each push of others in between.
    @inlinable
    package func push(_ element: sending Element) -> PushResult {
        var top = head.load(ordering: .sequentiallyConsistent)  // E3, and a first guess
        guard top != Head.closed else { return .closed }
        let node = UnsafeMutablePointer<Node>.allocate(capacity: 1)
        unsafe node.initialize(to: Node(next: top, element: element))
        while true {
            let (won, seen) = head.weakCompareExchange(
                expected: top, desired: UInt(bitPattern: node),
                ordering: .sequentiallyConsistent)  // E1, E2, E3
            if won { return top == Head.empty ? .first : .queued }
            guard seen != Head.closed else {
                unsafe node.deinitialize(count: 1)
                unsafe node.deallocate()
                return .closed
            }
            top = seen
            unsafe node.pointee.next = top
        }
    }

    /// Moves what is in it to the end of `elements`, in the order of arrival.
    ///
    /// Clear the signal that `.first` set before, never after: an element pushed in between would
    /// lie there unannounced.
    ///
    /// - Parameter elements: keep it for the next time, and draining allocates nothing.
    /// - Thread: the consumer's.
    /// - Blocks: never; takes what was there at one moment, so producers cannot hold it up.
    @inlinable
    package func drain(into elements: inout [Element]) {
        // A load first: looking into an empty inbox leaves the cache line with the producers.
        guard head.load(ordering: .sequentiallyConsistent) > Head.closed else { return }  // E2
        take(head.exchange(Head.empty, ordering: .sequentiallyConsistent), into: &elements)  // E1
    }

    /// Refuses whatever is pushed from now on, and moves what is in it to the end of `elements`.
    ///
    /// - Thread: the consumer's. May be called again; there is nothing in it then.
    @inlinable
    package func close(into elements: inout [Element]) {
        let top = head.exchange(Head.closed, ordering: .sequentiallyConsistent)  // E1, E3
        take(top, into: &elements)
    }

    /// Turns the chain round, so that the oldest node comes first, and moves its elements out.
    @inlinable
    func take(_ top: UInt, into elements: inout [Element]) {
        var newer: UInt = Head.empty
        var bits = top
        while let node = unsafe node(at: bits) {
            let older = unsafe node.pointee.next
            unsafe node.pointee.next = newer
            newer = bits
            bits = older
        }
        while let node = unsafe node(at: newer) {
            let taken = unsafe node.move()
            unsafe node.deallocate()
            elements.append(taken.element)
            newer = taken.next
        }
    }

    @inlinable
    func node(at bits: UInt) -> UnsafeMutablePointer<Node>? {
        bits == Head.closed ? nil : unsafe UnsafeMutablePointer(bitPattern: bits)
    }
}

/// The values of `Inbox.head` that are not the address of a node.
@usableFromInline
enum Head {
    @inlinable static var empty: UInt { 0 }
    @inlinable static var closed: UInt { 1 }
}
