// The descriptors of one mode, and the ports that wait for them. Confined to the loop's thread;
// made when the mode gets its first descriptor, so that one without any sleeps on a futex and is
// smaller.

internal import Glibc
internal import Kernel
internal import Structures

/// The ports that a mode watches, by the tokens that the poller reports.
final class DescriptorPorts {
    typealias Handle = SlotMap<ThreadRunLoop.Port>.Handle

    let set: any PollSet
    private var ports = SlotMap<ThreadRunLoop.Port>()
    /// Whose each descriptor is: the port that was added last.
    ///
    /// One that was closed before its port was made invalid may have its number given to another,
    /// which then has a port of its own: what the older port asks for later is not meant for that
    /// one.
    private var owners: [CInt: Handle] = [:]

    /// Ports of the mode that the kernel is not asked about.
    private var resting: Set<UInt64> = []

    init(set: any PollSet) { self.set = set }

    var count: Int { ports.count }
    var all: [ThreadRunLoop.Port] { ports.values }

    /// Watches a port's descriptor; the poller reports it by the handle's number.
    func watch(
        _ port: ThreadRunLoop.Port, descriptor: CInt, for interest: Readiness
    ) throws(SystemError) -> Handle {
        // The kernel would take it: it does not know of one that rests.
        if let owner = owners[descriptor], resting.contains(owner.rawValue) {
            throw SystemError(operation: "watch descriptor \(descriptor)", errno: EEXIST)
        }
        let handle = ports.insert(port)
        do throws(SystemError) {
            try set.add(descriptor, for: interest, token: handle.rawValue)
        } catch {
            _ = ports.remove(handle)
            throw error
        }
        owners[descriptor] = handle
        return handle
    }

    func rewatch(_ handle: Handle, descriptor: CInt, for interest: Readiness) {
        require(
            owners[descriptor] == handle,
            "descriptor \(descriptor) of a port was closed, and is another port's now; make the "
                + "port invalid first")
        do throws(SystemError) {
            if resting.remove(handle.rawValue) != nil {
                try set.add(descriptor, for: interest, token: handle.rawValue)
            } else {
                try set.change(descriptor, for: interest, token: handle.rawValue)
            }
        } catch {
            fatalError(
                "a port's descriptor was closed before the port was made invalid: \(error)")
        }
    }

    /// Asks nothing about a port any more, until it is watched for something else.
    ///
    /// The kernel has no way to keep a descriptor and be silent of its end.
    func rest(_ handle: Handle, descriptor: CInt) {
        guard owners[descriptor] == handle, resting.insert(handle.rawValue).inserted else { return }
        set.remove(descriptor)
    }

    func unwatch(_ handle: Handle, descriptor: CInt) {
        _ = ports.remove(handle)
        resting.remove(handle.rawValue)
        guard owners[descriptor] == handle else { return }
        owners[descriptor] = nil
        set.remove(descriptor)
    }

    /// The port behind an event; nil when it has left the mode.
    func port(of event: ReadyEvent) -> ThreadRunLoop.Port? {
        ports[Handle(rawValue: event.token)]
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

    private func sort(_ ready: inout [ReadyEvent]) {
        let ordered = ready.map { (order: port(of: $0)?.order ?? .max, event: $0) }
        ready = ordered.sorted { $0.order < $1.order }.map(\.event)
    }
}
