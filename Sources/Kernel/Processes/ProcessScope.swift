// The scope of process numbers: a machine, one start of it, and a name space of numbers, as
// containers have them.

/// The words that tell one scope of process numbers from another.
package struct ProcessScope: Sendable {
    /// The identifier of the machine, and its name: copies of one image may share the identifier.
    package let machine: [UInt8]
    /// The identifier of this start of the machine.
    package let start: [UInt8]
    /// The name space of process numbers.
    package let numbers: [UInt8]

    /// The scope of this process; nil where `/proc` does not tell.
    ///
    /// - Thread: any.
    /// - Blocks: never for long.
    /// - Source: machine-id(5), random(4), pid_namespaces(7).
    package static let own: ProcessScope? = {
        guard let start = RunningProcess.bootID,
            let numbers = File.target(ofLink: "/proc/self/ns/pid")
        else { return nil }
        let identifier = (try? File.read("/etc/machine-id", atMost: 256)) ?? []
        return ProcessScope(
            machine: identifier + HostName.own.utf8, start: start, numbers: Array(numbers.utf8))
    }()
}
