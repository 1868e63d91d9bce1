// The contents of one mode of one run loop. Confined to the loop's thread; keeps its items in order
// and its descriptors watched, and knows nothing of passes.

internal import Kernel
internal import Structures

/// The items of one mode.
final class ModeState: @unchecked Sendable {
    // SAFETY: confined to the loop's thread, but for `mode` and `link`, which never change.

    let mode: ThreadRunLoop.Mode
    /// Of the loop whose mode it is; here and not in each item, which would have to keep it.
    let link: ThreadRunLoop.LoopLink
    /// How many items keep this mode alive: all but observers.
    var liveCount = 0
    /// How many timers and time-outs are in this mode, with those that fire right now and wait in
    /// no heap.
    var timerCount = 0

    // SAFETY: each pass looks at the following several times. That accesses don't overlap is not
    // looked for at run time, which would be half of the pass's instructions: nothing is called out
    // to while one of them is being changed.
    @exclusivity(unchecked) private var uncheckedSources = ShortList<ThreadRunLoop.Source>()
    // Here and below, where the lists leave room.
    /// What any observer of this mode wants to be told.
    private(set) var observed: ThreadRunLoop.Activity = []
    @exclusivity(unchecked) private var uncheckedObservers = ShortList<ThreadRunLoop.Observer>()
    /// Whether a run in it has begun.
    var wasRun = false
    /// Whether a pass has handled a signalled port and left its descriptors unlooked at.
    var owesLook = false
    @exclusivity(unchecked) private var uncheckedPorts = ShortList<ThreadRunLoop.Port>()
    @exclusivity(unchecked) private var uncheckedDescriptors: DescriptorPorts?
    @exclusivity(unchecked) private var uncheckedHeap = TimerHeap<ThreadRunLoop.Waiting>()

    /// Sources by `order`, equal ones in the sequence in which they were added.
    var sources: ShortList<ThreadRunLoop.Source> {
        _read { yield unsafe uncheckedSources }
        _modify { yield unsafe &uncheckedSources }
    }

    /// Observers by `order`, equal ones in the sequence in which they were added.
    var observers: ShortList<ThreadRunLoop.Observer> {
        _read { yield unsafe uncheckedObservers }
    }

    func insert(_ observer: ThreadRunLoop.Observer) {
        unsafe uncheckedObservers.insertByOrder(observer)
        observed.formUnion(observer.activities)
    }

    func remove(_ observer: ThreadRunLoop.Observer) {
        unsafe uncheckedObservers.remove(observer)
        var left: ThreadRunLoop.Activity = []
        for index in observers.indices {
            left.formUnion(observers[index].activities)
            // Mostly one of the first: where there are very many, they want the same.
            if left == observed { return }
        }
        observed = left
    }

    /// Ports without a descriptor, by `order`.
    var signalledPorts: ShortList<ThreadRunLoop.Port> {
        _read { yield unsafe uncheckedPorts }
        _modify { yield unsafe &uncheckedPorts }
    }

    /// The ports on descriptors; nil until it has its first, so that it sleeps on a futex.
    private(set) var descriptors: DescriptorPorts? {
        get { unsafe uncheckedDescriptors }
        set { unsafe uncheckedDescriptors = newValue }
    }

    /// The timers and time-outs that wait for their date.
    var timerHeap: TimerHeap<ThreadRunLoop.Waiting> {
        _read { yield unsafe uncheckedHeap }
        _modify { yield unsafe &uncheckedHeap }
    }

    init(mode: ThreadRunLoop.Mode, link: ThreadRunLoop.LoopLink) {
        self.mode = mode
        self.link = link
    }

    /// Whether nothing could ever happen in this mode; observers alone keep nothing alive.
    var isEmpty: Bool { liveCount == 0 }

    /// Everything in this mode but timers that fire right now, and time-outs, which are no items;
    /// in the sequence in which it leaves a loop that ends.
    var items: [ThreadRunLoop.Item] {
        var items: [ThreadRunLoop.Item] = sources.map { $0 }
        items += signalledPorts.map { $0 }
        items += descriptors?.all ?? []
        items += timerHeap.values.compactMap(\.timer)
        return items + observers.reversed()
    }

    /// Whether a port without a descriptor is signalled.
    @inline(__always) var hasSignalledPort: Bool {
        // By index: who walks through an array keeps it meanwhile, and a pass does so several
        // times.
        for index in signalledPorts.indices where signalledPorts[index].isSignalled { return true }
        return false
    }

    /// The place, from `start` on, of the first source that is signalled.
    func firstSignalledSource(from start: Int = 0) -> Int? {
        for index in start..<sources.count where sources[index].isSignalled { return index }
        return nil
    }

    /// Watches a port's descriptor; the first one makes the set of them.
    func watch(
        _ port: ThreadRunLoop.Port, descriptor: CInt, for interest: Readiness, poller: any Poller
    ) throws(SystemError) -> DescriptorPorts.Handle {
        let ports =
            if let descriptors { descriptors } else {
                DescriptorPorts(set: try poller.makeSet())
            }
        let handle = try ports.watch(port, descriptor: descriptor, for: interest)
        descriptors = ports
        return handle
    }

    /// Gives back what a mode keeps that has become empty, when the loop ends: its users may keep
    /// the loop for longer.
    func giveBack() {
        descriptors = nil
        var memory = TimerHeap<ThreadRunLoop.Waiting>()
        // Let go of when the heap is the new one.
        swap(&memory, &timerHeap)
    }
}
