// Where a reload reads: the configuration file, the files that it names, and this machine's limits.
// It reads all of it before anything changes.

internal import Jobs
internal import Kernel
internal import Wording

/// A configuration that was read and checked, with all that is made of it.
struct ReadConfiguration: Sendable {
    let configuration: Configuration
    /// The code behind each selector, configured or registered.
    let handlers: [String: Handler]
    let users: UserBook
    let certificates: DoorCertificates
}

/// Reads the configuration file of a running daemon again.
///
/// - Thread: any thread.
struct ReloadSource: Sendable {
    let path: String
    /// The handlers that the program registered, and the daemon's own.
    let registered: [String: Handler]
    let children: ChildRegistry
    let log: Log

    /// Reads and checks all of it.
    ///
    /// - Throws: every fault, a line each.
    /// - Blocks: for the disk.
    func read() throws(DaemonError) -> ReadConfiguration {
        let configuration = try Daemon.readConfiguration(
            path, builtInSelectors: Set(registered.keys), files: .systemAtReload)
        try children.controlGroups.check(configuration.selectors)
        try MachineRoom.check(for: configuration)
        return ReadConfiguration(
            configuration: configuration,
            handlers: Handler.all(of: configuration, beside: registered),
            users: try UserBook.load(configuration, of: path, log),
            certificates: try DoorCertificates(configuration.listen, log))
    }
}

extension Handler {
    /// The code behind each selector: a registered handler takes the place of a configured one.
    static func all(
        of configuration: Configuration, beside registered: [String: Handler]
    ) -> [String: Handler] {
        var handlers: [String: Handler] = [:]
        for selector in configuration.selectors {
            let kind = selector.isForWorkers ? Handler.Kind.worker(selector) : .program(selector)
            handlers[selector.name] = Handler(kind)
        }
        return handlers.merging(registered) { $1 }
    }

    /// Whether it is the code of a program, not of a configuration file.
    var isRegistered: Bool {
        switch kind {
        case .closure, .task: true
        case .program, .worker: false
        }
    }
}
