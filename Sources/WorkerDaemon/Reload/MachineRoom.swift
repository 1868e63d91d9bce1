// Whether this machine's limits let the daemon make its threads and start its programs.

internal import Kernel
internal import Wording

/// The room that a configuration needs.
enum MachineRoom {
    /// The address space of the process beside its worker threads.
    private static let ownAddressSpace = 64 << 20
    /// The address space of a thread beside its stack: its own part of the allocator.
    private static let threadAddressSpace = 32 << 20
    /// A stack where its limit is unlimited, or larger than an address space.
    private static let usualStackByteCount: UInt64 = 8 << 20
    /// The threads `main`, `io`, `journal` and one that copies the store.
    private static let ownThreadCount = 4

    /// Descriptors of the daemon itself, with its store and a few clients.
    private static let ownDescriptorCount = 16
    /// Descriptors that a worker's loop keeps once it has waited for a program.
    private static let threadDescriptorCount = 2
    /// Descriptors that the start of one program takes.
    private static let programDescriptorCount = 8

    /// Refuses a configuration whose threads and programs have no room.
    static func check(for configuration: Configuration) throws(DaemonError) {
        try checkAddressSpace(for: configuration)
        try checkDescriptors(for: configuration)
    }

    /// Refuses to start where threads could not be made, or would crash for want of memory.
    private static func checkAddressSpace(for configuration: Configuration) throws(DaemonError) {
        guard let limit = try? ResourceLimit.addressSpaceBytes.current().soft else { return }
        let threadCount = configuration.threads.reduce(ownThreadCount) { $0 + $1.count }
        let stack = (try? ResourceLimit.stackBytes.current().soft) ?? usualStackByteCount
        let stackByteCount = Int(stack < 1 << 40 ? stack : usualStackByteCount)
        let needed = ownAddressSpace + threadCount * (threadAddressSpace + stackByteCount)
        guard limit < UInt64(needed) else { return }
        throw DaemonError(
            "can't start: the limit of address space is \(limit >> 20) MB, and "
                + "\(counted(threadCount, "thread")) take about \(needed >> 20) MB: raise it "
                + "(ulimit -v, LimitAS= of a unit), or configure fewer threads",
            exitStatus: DaemonError.systemFault)
    }

    /// Refuses to start where not one program could be started once all threads have run some.
    private static func checkDescriptors(for configuration: Configuration) throws(DaemonError) {
        guard !configuration.selectors.isEmpty,
            let limit = try? ResourceLimit.openDescriptors.current().hard
        else { return }
        let threadCount = configuration.threads.reduce(0) { $0 + $1.count }
        let needed =
            ownDescriptorCount + threadCount * threadDescriptorCount + programDescriptorCount
        guard limit < UInt64(needed) else { return }
        throw DaemonError(
            "can't start: the limit of open files is \(limit), and "
                + "\(counted(threadCount, "thread")) that start programs need \(needed): raise it "
                + "(ulimit -n, LimitNOFILE= of a unit), or configure fewer threads",
            exitStatus: DaemonError.systemFault)
    }
}
