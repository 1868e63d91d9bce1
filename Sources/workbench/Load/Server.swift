// A server that a scenario starts for itself: on a socket of its own, in a directory of its own,
// and removed when the scenario has ended.

internal import CMeasure
internal import Kernel

/// The program of a server, and how it is started.
struct ServerCommand: Sendable {
    let name: String
    /// The reason why it can't be started here; nil if it can.
    var obstacle: @Sendable () -> String? = { nil }
    /// Makes the program's path and arguments, given a directory and the path of the socket to
    /// listen at.
    let make: @Sendable (_ directory: String, _ socket: String) throws -> ChildCommand

    /// The workerd beside this program.
    static let workerd = ServerCommand(name: "workerd") { directory, socket in
        let configuration = """
            { listen: { unix: "\(socket)", unixMode: "0600" }, store: "memory",
              threads: { images: {} }, log: { level: "warning" } }
            """
        let path = "\(directory)/workerd.json5"
        try File.write(Array(configuration.utf8), to: path)
        return ChildCommand(
            program: try Executable.beside("workerd"), arguments: ["--config", path])
    }

    /// Redis without persistence.
    static let redis = ServerCommand(
        name: "redis-server",
        obstacle: {
            (try? Executable.find("redis-server")) == nil
                ? "there is no redis-server; Scripts/bench installs it" : nil
        }
    ) { directory, socket in
        ChildCommand(
            program: try Executable.find("redis-server"),
            arguments: [
                "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no",
                "--loglevel", "warning", "--dir", directory,
            ])
    }
}

/// A running server; releasing it kills it.
final class Server {
    let address: SocketAddress
    private let directory: String
    private var child: ChildProcess

    private static let patienceNanoseconds: Int64 = 10_000_000_000

    /// Starts a server and waits until it answers to a connect.
    ///
    /// - Parameter traceFile: the file in which strace counts its system calls; nil for no trace.
    init(_ command: ServerCommand, traceFile: String?) throws {
        directory = try Directory.createTemporary(prefix: "/tmp/workbench-")
        let socket = "\(directory)/socket"
        address = .unix(try UnixAddress(socket))
        var program = try command.make(directory, socket)
        if let traceFile { program = try Executable.traced(program, to: traceFile) }
        child = try ChildProcess.spawn(program)
        Interrupts.note(child.processID)
        let deadline = nanoseconds() + Self.patienceNanoseconds
        while (try? address.connect(timeoutMilliseconds: 1_000)) == nil {
            if child.hasEnded { throw WorkbenchError("\(command.name) ended: \(lastWords())") }
            guard nanoseconds() < deadline else {
                throw WorkbenchError("\(command.name) does not listen at \(socket)")
            }
            measure_sleep(2_000_000)
        }
    }

    /// Its process, for `/proc`; strace's when it is traced.
    var processName: String { "\(child.processID)" }

    /// Asks the server to end, and waits for it.
    func stop() throws {
        try child.signalGroup(.terminate)
        let deadline = nanoseconds() + Self.patienceNanoseconds
        while child.reap() == nil {
            guard nanoseconds() < deadline else { throw WorkbenchError("a server does not end") }
            measure_sleep(1_000_000)
        }
        Interrupts.forget(child.processID)
        for name in try Directory.names(in: directory) { try File.remove("\(directory)/\(name)") }
        try Directory.remove(directory)
    }

    private func lastWords() -> String {
        guard let errors = child.takeErrors(),
            let bytes = try? errors.readEverything("its errors", atMost: 1 << 16)
        else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }
}
