// The real `workerd`, started for one test in a directory of its own and ended with it, whatever
// becomes of the test.

import Glibc
import Kernel
import Support
import Testing

/// The configuration of a test; each text is the inside of its section.
///
/// `$DIR` stands for the directory of the test.
struct Setup {
    var threads = "images: {}"
    var selectors = ""
    var limits = ""
    var shutdown = "grace: \"100s\""
    var log = "level: \"debug\""
    /// Further settings of `listen`, beside the Unix socket.
    var listen = ""
    /// Where jobs are kept, in quotes.
    var store = TestStore.chosen.setting
    /// Further sections, each with its name and a comma.
    var more = ""

    /// The store that keeps nothing, for tests that are about it.
    static let memory = "\"memory\""

    /// With a journal in the test's directory.
    static let durable = Setup(store: "\"$DIR/jobs.sqlite\"")

    /// With a database of the test's own.
    static let database = Setup(store: TestStore.postgresql.setting)

    func text(directory: String) -> String {
        let text = """
            {
                listen: { unix: "$DIR/s", \(listen) },
                store: \(store),
                threads: { \(threads) },
                selectors: { \(selectors) },
                limits: { \(limits) },
                shutdown: { \(shutdown) },
                log: { \(log) },
                \(more)
            }
            """
        let placed = text.split(separator: "$DIR", omittingEmptySubsequences: false)
            .joined(separator: directory)
        let parts = placed.split(separator: "$DATABASE", omittingEmptySubsequences: false)
        guard parts.count > 1 else { return placed }
        return parts.joined(separator: TestStore.database(of: directory))
    }
}

/// A running daemon.
final class TestDaemon {
    let scratch: Scratch
    let processID: Int
    let configurationFile: String
    private var child: ChildProcess
    private let logName: String
    /// Whether the test has waited for its end.
    private(set) var wasEnded = false

    /// Starts `workerd` with any arguments and waits for nothing.
    ///
    /// - Parameters:
    ///   - program: `workerd`, or a daemon of a test's own.
    ///   - path: another executable in its place.
    ///   - more: what is added to the environment.
    init(
        arguments: [String], in scratch: Scratch, logName: String = "log",
        program: String = "workerd", path: String? = nil, environment more: [String: String] = [:]
    ) throws {
        self.scratch = scratch
        self.logName = logName
        configurationFile = scratch.file("workerd.json5")
        let program = "\(try productsDirectory())/\(program)"
        // The shell is replaced by the daemon: it only points standard error at a file.
        var command = ChildCommand(
            program: "/bin/sh",
            arguments: [
                "-c", "exec \"$0\" \"$@\" 2>\"$LOG\"",
                path ?? program,
            ]
                + arguments)
        var environment = environmentOfNoService()
        environment["LOG"] = scratch.file(logName)
        environment.merge(more) { $1 }
        command.environment = environment
        var child = try ChildProcess.spawn(command)
        child.closeInput()
        processID = child.processID
        self.child = consume child
    }

    /// Starts `workerd` with a configuration and waits until it listens.
    convenience init(
        _ setup: Setup, in scratch: Scratch, logName: String = "log", program: String = "workerd"
    ) throws {
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        try self.init(
            arguments: ["--config", scratch.file("workerd.json5")], in: scratch, logName: logName,
            program: program, environment: try TestStore.chosen.environment(in: scratch))
        try waitUntilListening()
    }

    var socket: String { scratch.file("s") }
    var log: String { scratch.read(logName) }
    var isRunning: Bool { !child.hasEnded }

    func waitUntilListening() throws {
        // The log is read, not the socket: the socket's file is there before it listens.
        try eventually("the daemon listens") {
            if child.hasEnded { throw Unexpected("workerd ended at once: \(log)") }
            return log.contains("listening on \(socket)\n")
        }
    }

    /// Replaces a section of the configuration file, which has it in a line of its own.
    ///
    /// - Parameter section: its name and text, such as `log: { level: "info" }`; `$DIR` stands for
    ///   the directory of the test.
    func rewrite(section: String) throws {
        let name = section.prefix { $0 != ":" }
        var isThere = false
        let text = scratch.read("workerd.json5")
            .split(separator: "\n", omittingEmptySubsequences: false)
            .map { line -> String in
                guard line.drop(while: { $0 == " " }).hasPrefix("\(name):") else {
                    return String(line)
                }
                isThere = true
                let parts = section.split(separator: "$DIR", omittingEmptySubsequences: false)
                return "    \(parts.joined(separator: scratch.path)),"
            }
        guard isThere else { throw Unexpected("the configuration has no line of \(name)") }
        try scratch.write(text.joined(separator: "\n"), to: "workerd.json5")
    }

    func connect() throws -> TestClient { try TestClient(.unix(UnixAddress(socket))) }

    func send(_ signal: Signal) throws {
        try signal.send(toProcess: processID)
        guard signal == .stop else { return }
        // Its threads stop one by one, and one of them may still answer meanwhile.
        var info = unsafe siginfo_t()
        try retrying("waitid") { unsafe waitid(P_PID, id_t(processID), &info, WSTOPPED) }
    }

    /// Waits for the end and tells how it was: `exit status 0`.
    func end() throws -> String {
        var status: ChildStatus?
        guard isReady(child.endDescriptor.number, for: POLLIN, within: patienceMilliseconds) else {
            throw Unexpected("workerd does not end: \(log)")
        }
        status = child.reap(leavingGroup: true)
        wasEnded = true
        return status.map { "\($0)" } ?? "it runs"
    }

    /// Its standard output; after its end.
    func output() throws -> String {
        guard let output = child.takeOutput() else { return "" }
        return String(
            decoding: try output.readEverything("output", atMost: 1 << 20), as: UTF8.self)
    }

    /// Ends it as a crash does, and waits until it is gone.
    func crash() throws {
        try send(.kill)
        _ = try end()
    }

    /// Ends it and its programs, whatever it is doing.
    func kill() {
        guard !child.hasEnded else { return }
        // Two signals end it at once and with it its programs; as they differ, none is lost.
        try? send(.terminate)
        try? send(.interrupt)
        if !isReady(child.endDescriptor.number, for: POLLIN, within: patienceMilliseconds) {
            Issue.record("workerd \(processID) had to be killed: \(log.suffix(2_000))")
            try? child.signalGroup(.kill)
        }
    }
}

/// A loopback address of a test's own, and a port that is free there.
func freeLoopbackAddress() throws -> (text: String, address: SocketAddress) {
    let address = try freePort()
    return ("\(address)", .tcp(address))
}

extension Scratch {
    /// The settings of a TCP door with a password, which is written to a file.
    func passwordDoor(at address: String, password: String) throws -> String {
        try write("\(password)\n", to: "password")
        try File.setMode(0o600, of: file("password"))
        return "tcp: \"\(address)\", passwordFile: \"$DIR/password\""
    }
}

/// Runs a test with a daemon, which has to be alive at its end unless the test has seen it end.
func withDaemon(
    _ setup: Setup = Setup(), program: String = "workerd", _ body: (TestDaemon) throws -> Void
) throws {
    let daemon = try TestDaemon(setup, in: Scratch(), program: program)
    defer { daemon.kill() }
    try daemon.check { try body(daemon) }
}

extension TestDaemon {
    /// Runs a test's body; shows the daemon's log if it fails or the daemon has ended by itself.
    func check(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            Issue.record("\(error)\n--- the daemon's log:\n\(log.suffix(4_000))")
            return
        }
        if !isRunning { try #require(wasEnded, "workerd ended: \(log.suffix(4_000))") }
    }

    /// Starts `workerd` so that no file of it becomes larger than this, as on a disk that is full.
    convenience init(_ setup: Setup, in scratch: Scratch, fileByteCountMax: Int) throws {
        // That its signal is ignored is inherited. Blocks of 512.
        try self.init(
            setup, in: scratch, limited: "ulimit -S -f \(fileByteCountMax / 512)")
    }

    /// Starts `workerd` below a shell whose limits it inherits.
    ///
    /// - Parameter orders: what the shell does before it becomes the daemon.
    convenience init(_ setup: Setup, in scratch: Scratch, limited orders: String) throws {
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        let script =
            "\(orders); exec '\(try productsDirectory())/workerd'"
            + " --config '\(scratch.file("workerd.json5"))'"
        try scratch.writeProgram("#!/bin/sh\n\(script)\n", to: "limited")
        try self.init(arguments: [], in: scratch, path: scratch.file("limited"))
        try waitUntilListening()
    }

    /// Takes that limit away.
    func allowFilesOfAnySize() throws { try limitFiles("unlimited") }

    /// Lets no file grow beyond a size from now on, as if the disk were full.
    func allowFiles(ofByteCount max: Int) throws { try limitFiles("\(max)") }

    private func limitFiles(_ soft: String) throws {
        var child = try ChildProcess.spawn(
            ChildCommand(
                program: "/usr/bin/prlimit",
                arguments: ["--pid", "\(processID)", "--fsize=\(soft):"]))
        _ = isReady(child.endDescriptor.number, for: POLLIN, within: patienceMilliseconds)
        let status = child.reap()
        guard status == .exited(0) else { throw Unexpected("prlimit: \(status as Any)") }
    }
}
