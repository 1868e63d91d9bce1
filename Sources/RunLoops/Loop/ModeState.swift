// What one mode of one run loop holds. Confined to the loop's thread; keeps its items in order and
// its descriptors watched, and knows nothing of passes.

internal import Kernel
internal import Structures

/// The items of one mode.
final class ModeState: @unchecked Sendable {
    // SAFETY: confined to the loop's thread, but for `mode` and `link`, which never change.

    typealias PortHandle = SlotMap<ThreadRunLoop.Port>.Handle

    let mode: ThreadRunLoop.Mode
    /// Of the loop whose mode it is; here and not in each item, which would have to keep it.
    let link: ThreadRunLoop.LoopLink
    /// Whether a run in it has begun.
    var wasRun = false
    /// How many items keep this mode alive: all but observers.
    var liveCount = 0
    /// What any observer of this mode wants to be told.
    private(set) var observed: ThreadRunLoop.Activity = []
    /// How many timers and time-outs are in this mode, with those that fire right now and wait in no
    /// heap.
    var timerCount = 0

    // SAFETY: each pass looks at the following several times. That accesses don't overlap is not
    // looked for at run time, which would be half of the pass's instructions: nothing is called out
    // to while one of them is being changed.
    @exclusivity(unchecked) private var uncheckedSources: [ThreadRunLoop.Source] = []
    @exclusivity(unchecked) private var uncheckedObservers: [ThreadRunLoop.Observer] = []
    @exclusivity(unchecked) private var uncheckedPorts: [ThreadRunLoop.Port] = []
    @exclusivity(unchecked) private var uncheckedSet: (any PollSet)?
    @exclusivity(unchecked) private var uncheckedHeap = TimerHeap<ThreadRunLoop.Waiting>()

    /// Sources by `order`, equal ones in the sequence in which they were added.
    var sources: [ThreadRunLoop.Source] {
        _read { yield unsafe uncheckedSources }
        _modify { yield unsafe &uncheckedSources }
    }

    /// Observers by `order`, equal ones in the sequence in which they were added.
    var observers: [ThreadRunLoop.Observer] {
        _read { yield unsafe uncheckedObservers }
        _modify {
            yield unsafe &uncheckedObservers
            observed = unsafe uncheckedObservers.reduce(into: []) { $0.formUnion($1.activities) }
        }
    }

    /// Ports without a descriptor, by `order`.
    var signalledPorts: [ThreadRunLoop.Port] {
        _read { yield unsafe uncheckedPorts }
        _modify { yield unsafe &uncheckedPorts }
    }

    /// Ports on descriptors, by the token that the poller reports.
    private(set) var descriptorPorts = SlotMap<ThreadRunLoop.Port>()

    /// The descriptors of this mode; nil until it has its first, so that it sleeps on a futex.
    private(set) var pollSet: (any PollSet)? {
        get { unsafe uncheckedSet }
        set { unsafe uncheckedSet = newValue }
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

    /// Everything in this mode but timers that fire right now, and time-outs, which are no items.
    var items: [ThreadRunLoop.Item] {
        sources + signalledPorts + descriptorPorts.values + timerHeap.values.compactMap(\.timer)
            + observers
    }

    /// Whether a port without a descriptor is signalled.
    var hasSignalledPort: Bool {
        // By index: who walks through an array keeps it meanwhile, and a pass does so several times.
        for index in signalledPorts.indices where signalledPorts[index].isSignalled { return true }
        return false
    }

    /// The place, from `start` on, of the first source that is signalled.
    func firstSignalledSource(from start: Int = 0) -> Int? {
        for index in start..<sources.count where sources[index].isSignalled { return index }
        return nil
    }

    /// Watches a port's descriptor; the poller reports it by the handle's number.
    func watch(
        _ port: ThreadRunLoop.Port, descriptor: CInt, for interest: Readiness, poller: any Poller
    ) throws(SystemError) -> PortHandle {
        let set = if let pollSet { pollSet } else { try poller.makeSet() }
        let handle = descriptorPorts.insert(port)
        do throws(SystemError) {
            try set.add(descriptor, for: interest, token: handle.rawValue)
        } catch {
            _ = descriptorPorts.remove(handle)
            throw error
        }
        pollSet = set
        return handle
    }

    func rewatch(_ handle: PortHandle, descriptor: CInt, for interest: Readiness) {
        do throws(SystemError) {
            try pollSet?.change(descriptor, for: interest, token: handle.rawValue)
        } catch {
            preconditionFailure("a port's descriptor was closed before the port: \(error)")
        }
    }

    func unwatch(_ handle: PortHandle, descriptor: CInt) {
        _ = descriptorPorts.remove(handle)
        pollSet?.remove(descriptor)
    }

    /// Sorts events of the poller by the `order` of their ports.
    func sortByOrder(_ ready: inout [ReadyEvent]) {
        var last = Int.min
        for event in ready {
            guard let order = port(of: event)?.order else { continue }
            guard order >= last else { return sort(&ready) }
            last = order
        }
    }

    /// The port behind an event; nil when it has left the mode.
    func port(of event: ReadyEvent) -> ThreadRunLoop.Port? {
        descriptorPorts[PortHandle(rawValue: event.token)]
    }

    /// Gives back what a mode keeps that has become empty, when the loop ends: somebody may keep the
    /// loop for longer.
    func giveBack() {
        pollSet = nil
        var memory = TimerHeap<ThreadRunLoop.Waiting>()
        // Let go of when the heap is the new one.
        swap(&memory, &timerHeap)
    }

    private func sort(_ ready: inout [ReadyEvent]) {
        let ordered = ready.map { (order: port(of: $0)?.order ?? .max, event: $0) }
        ready = ordered.sorted { $0.order < $1.order }.map(\.event)
    }
}
