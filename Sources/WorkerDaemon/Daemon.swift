// The daemon as a library: configure it, register handlers, run it. What it does while it runs is
// in Daemon+Run.swift.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import WorkerThreads

/// Why a daemon could not start.
public struct DaemonError: Error, Sendable, CustomStringConvertible {
    /// The faults and their remedies, one line each.
    public let description: String
    /// The status with which the process should exit.
    ///
    /// - Source: sysexits(3).
    public let exitStatus: Int32

    static let badUsage: Int32 = 64
    static let unavailable: Int32 = 69
    static let systemFault: Int32 = 71
    static let tryAgain: Int32 = 75
    static let badConfiguration: Int32 = 78

    init(_ description: String, exitStatus: Int32) {
        self.description = description
        self.exitStatus = exitStatus
    }
}

/// A daemon of long-lived threads that any program can hand jobs to.
///
/// ```swift
/// let daemon = Daemon(socket: "greeter.sock", threads: ["greetings": 1])
/// daemon.register("greet") { job in "hello, \(job.text)" }
/// exit(daemon.run())
/// ```
///
/// - Thread: made, given its handlers and run on the main thread.
public final class Daemon {
    let configuration: Configuration
    /// The file of the configuration; nil if it was made by code.
    let configurationFile: String?
    private(set) var handlers: [String: Handler]

    /// A daemon that listens on a Unix socket, for this user only.
    ///
    /// - Parameters:
    ///   - socket: the path of its socket, at most 107 bytes.
    ///   - threads: its worker threads by name, 1 to 64 of the characters `A-Z a-z 0-9 _ . -` but
    ///     not `main`, `io`, `journal` or `backup`; a number above 1 makes a pool.
    public convenience init(socket: String, threads: [String: Int]) {
        var configuration = Configuration()
        configuration.listen.unix = socket
        configuration.threads = threads.sorted { $0.key < $1.key }.map { name, count in
            require(count > 0, "thread \(name) needs a count of at least 1, not \(count)")
            // As in a file: `mail/1` would be the pool's member `mail/1` as well.
            require(NameRule.accepts(name), "thread '\(name)': \(NameRule.text)")
            require(
                !Configuration.Thread.reservedNames.contains(name),
                "thread '\(name)' \(Configuration.Thread.reservedNameFault)")
            var thread = Configuration.Thread(name: name)
            thread.count = count
            return thread
        }
        self.init(configuration: configuration)
    }

    /// A daemon as a configuration file describes it.
    ///
    /// - Parameter path: a JSON5 file; Config/workerd.json5 is an example.
    /// - Throws: every fault of the file, each by its path and place.
    /// - Blocks: for the disk.
    public convenience init(configurationFile path: String) throws(DaemonError) {
        self.init(configuration: try Self.readConfiguration(path), readFrom: path)
    }

    package init(configuration: Configuration, readFrom file: String? = nil) {
        self.configuration = configuration
        configurationFile = file
        handlers = Handler.all(of: configuration, beside: Handler.builtIn)
    }

    /// Registers a closure as a selector.
    ///
    /// The closure runs on the job's thread and blocks it, so it may use libraries that must stay
    /// on one thread; later jobs wait their turn.
    ///
    /// `CANCEL` of a running job, its time limit and a shutdown set `job.isCancelled`; nothing
    /// interrupts the closure. The job ends as `cancelled` (or with `TIMEOUT`) if the closure then
    /// throws `CancellationError`, as `done` if it returns a result, and as `failed` if it throws
    /// another error. If it runs for `stuckAfter` longer, the thread is shown as stuck, and
    /// replaced where its `whenStuck` says so.
    ///
    /// - Parameters:
    ///   - selector: its name; a selector of the same name is replaced.
    ///   - retries: what follows a failed attempt, unless the client says otherwise.
    ///   - body: returns the job's result, or throws what its client is told.
    public func register(
        _ selector: String, retries: Retries = .none,
        _ body: @escaping @Sendable (JobContext) throws -> some HandlerResult
    ) {
        handlers[selector] = Handler(.closure { try body($0).resultBytes }, retries)
    }

    /// Registers an asynchronous closure as a selector.
    ///
    /// The closure's task prefers the job's thread, which serves it, and no other job, until it has
    /// returned. `CANCEL` of a running job, its time limit and a shutdown set `job.isCancelled` and
    /// cancel the task, so `Task.sleep` and the like throw. The job ends by what the closure then
    /// does, as that of a synchronous closure.
    ///
    /// - Parameters:
    ///   - selector: its name; a selector of the same name is replaced.
    ///   - retries: what follows a failed attempt, unless the client says otherwise.
    ///   - body: returns the job's result, or throws what its client is told.
    public func register(
        _ selector: String, retries: Retries = .none,
        _ body: @escaping @Sendable (JobContext) async throws -> some HandlerResult
    ) {
        handlers[selector] = Handler(.task { try await body($0).resultBytes }, retries)
    }

    /// Registers a closure that returns nothing as a selector; its job's result is empty.
    ///
    /// For example `daemon.register("log") { job in print(job.text) }`. The closure runs on the
    /// job's thread and blocks it, and a cancel does to it what it does to a closure with a result.
    ///
    /// - Parameters:
    ///   - selector: its name; a selector of the same name is replaced.
    ///   - retries: what follows a failed attempt, unless the client says otherwise.
    ///   - body: does the job, or throws what its client is told.
    public func register(
        _ selector: String, retries: Retries = .none,
        _ body: @escaping @Sendable (JobContext) throws -> Void
    ) {
        handlers[selector] = Handler(
            .closure { job in
                try body(job)
                return []
            }, retries)
    }

    /// Registers an asynchronous closure that returns nothing as a selector; its job's result is
    /// empty.
    ///
    /// Its task prefers the job's thread, and a cancel does to it what it does to that of a closure
    /// with a result.
    ///
    /// - Parameters:
    ///   - selector: its name; a selector of the same name is replaced.
    ///   - retries: what follows a failed attempt, unless the client says otherwise.
    ///   - body: does the job, or throws what its client is told.
    public func register(
        _ selector: String, retries: Retries = .none,
        _ body: @escaping @Sendable (JobContext) async throws -> Void
    ) {
        handlers[selector] = Handler(
            .task { job in
                try await body(job)
                return []
            }, retries)
    }

    /// Reads a configuration file, with this machine's files behind its checks.
    ///
    /// - Parameter builtInSelectors: nil if handlers are registered later.
    static func readConfiguration(
        _ path: String, builtInSelectors: Set<String>? = nil, files: FileChecks = .system
    ) throws(DaemonError) -> Configuration {
        do throws(ConfigurationError) {
            let reader = ConfigurationReader(files: files, builtInSelectors: builtInSelectors)
            return try reader.load(path: path)
        } catch {
            throw DaemonError(error.description, exitStatus: DaemonError.badConfiguration)
        }
    }

    /// Checks a configuration file for a daemon that registers no handlers.
    ///
    /// - Returns: warnings about things to mend before the start, one line each.
    static func check(
        _ path: String
    ) throws(DaemonError) -> (warnings: [String], notes: [String]) {
        let found: (configuration: Configuration, warnings: [ConfigurationFault])
        do throws(ConfigurationError) {
            let builtIn = Set(Handler.builtIn.keys)
            let reader = ConfigurationReader(files: .system, builtInSelectors: builtIn)
            found = try reader.check(path: path)
        } catch {
            throw DaemonError(error.description, exitStatus: DaemonError.badConfiguration)
        }
        var warnings = found.warnings.map { "\(path): warning: \($0)" }
        if let warning = try UserBook.check(found.configuration, of: path) {
            warnings.append("\(path): warning: \(warning)")
        }
        warnings += try DoorCertificates.check(found.configuration.listen).map {
            "\(path): warning: \($0)"
        }
        let groups: ProgramGroups
        do throws(DaemonError) {
            groups = try ProgramGroups.prepare(found.configuration.controlGroups, isCheck: true)
            try groups.check(found.configuration.selectors)
        } catch {
            // The service may find another control group than the shell of the check.
            warnings.append("\(path): warning: \(error)")
            return (warnings, [])
        }
        return (warnings, groups.descriptions(of: found.configuration.selectors))
    }
}

extension Daemon {
    /// Checks that there is a handler for each schedule of the configuration.
    func checkSchedules() throws(DaemonError) {
        let faults = configuration.schedules.filter { handlers[$0.selector] == nil }.map {
            ConfigurationFault(
                path: "schedules.\($0.name).selector",
                message: $0.unknownSelector(among: handlers.keys), position: $0.selectorPosition)
        }
        guard !faults.isEmpty else { return }
        let error = ConfigurationError(
            fileName: configurationFile ?? "configuration", faults: faults)
        throw DaemonError(error.description, exitStatus: DaemonError.badConfiguration)
    }
}

extension FileChecks {
    /// The file system of this machine, for a start or a check of the configuration.
    ///
    /// The configuration may come through a pipe that the process was given: `<(…)` of a shell.
    static let system = FileChecks { path, byteCountMax throws(Unreadable) in
        guard File.isOwnDescriptor(path) else {
            return try regularContents(path, byteCountMax)
        }
        do throws(SystemError) {
            return try File.read(path, atMost: byteCountMax)
        } catch {
            throw Unreadable(reason: error.reason)
        }
    }

    /// The same for a reload, which waits for no other process.
    static let systemAtReload = FileChecks(contents: regularContents)

    private init(
        contents: @escaping @Sendable (_ path: String, Int) throws(Unreadable) -> [UInt8]
    ) {
        self.init(
            kind: { path in
                switch try? File.kind(of: path) {
                case .regular(let isExecutable): isExecutable ? .program : .other
                case .directory: .directory
                case .socket, .other: .other
                case nil: .missing
                }
            },
            contents: contents,
            searchPath: (Program.inheritedEnvironment()["PATH"] ?? "/usr/bin:/bin")
                .split(separator: ":").map(String.init))
    }

    @Sendable private static func regularContents(
        _ path: String, _ byteCountMax: Int
    ) throws(Unreadable) -> [UInt8] {
        do throws(UnreadableFile) {
            return try File.readRegular(path, atMost: byteCountMax)
        } catch {
            throw Unreadable(reason: error.reason)
        }
    }
}

extension StoreLimits {
    /// The limits of a configuration that are about jobs.
    init(_ limits: Configuration.Limits) {
        self.init()
        liveCountMax = limits.waitingJobs
        liveByteCountMax = limits.waitingBytes
        retainedCountMax = limits.retainedResults
        retainedByteCountMax = limits.retainedBytes
        retainedMilliseconds = limits.retainedFor.milliseconds
        failedCountMax = limits.retainedFailures
        failedByteCountMax = limits.retainedBytes
        failedMilliseconds = limits.failuresFor.milliseconds
        uniqueMilliseconds = limits.uniqueFor.milliseconds
    }
}
