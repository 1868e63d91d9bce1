// A private database server for tests: one for each run of a test program, with a directory, a
// socket and a user of its own. It ends with the program, however that ends.

import Kernel
package import Support
import Synchronization

/// A database server.
///
/// - Thread: any.
package final class PostgreSQLServer: Sendable {
    /// Whether Debian's package is installed; `Scripts/test` installs it.
    package static let isInstalled =
        (try? File.kind(of: "/usr/lib/postgresql/15/bin/initdb")) != nil

    /// Why a test that needs it is skipped.
    package static let excuse = "PostgreSQL is not installed: apt-get install postgresql-15"

    /// The server that all tests of a program share, each with a database of its own.
    package static let shared: Result<PostgreSQLServer, Unexpected> = Result {
        () throws(Unexpected) in
        do {
            return try PostgreSQLServer()
        } catch {
            throw Unexpected("no database server: \(error)")
        }
    }

    private let directory: TestDirectory
    private let input: Descriptor
    private let output: Descriptor
    private let child: ChildProcess
    private let lastDatabase = Atomic<Int>(0)
    private let isBusy = Mutex(())

    /// Starts a server.
    ///
    /// - Parameter diskFaults: the library that `setDisk` needs, of Tests/Preload/disk-faults.c.
    /// - Blocks: until it serves, about two seconds.
    package init(diskFaults: String? = nil) throws {
        directory = try TestDirectory()
        var environment = Program.inheritedEnvironment()
        if let diskFaults {
            // Its own user may not be able to read the library where it is.
            let library = directory.file("disk-faults.so")
            try File.write(try File.read(diskFaults, atMost: .max), to: library, mode: 0o755)
            environment["LD_PRELOAD"] = library
            environment["DISK_FAULTS_FILES"] = "base/"
            environment["DISK_FAULTS_CONTROL"] = directory.file("disk")
        }
        var child = try ChildProcess.spawn(
            ChildCommand(
                program: "\(repositoryDirectory)/Scripts/lib/postgresql-server",
                arguments: [directory.path], environment: environment))
        guard let input = child.takeInput(), let output = child.takeOutput() else {
            throw Unexpected("the pipes of the server were taken")
        }
        do {
            try Self.awaitReady(output)
        } catch {
            var words: [UInt8] = []
            if let errors = child.takeErrors() {
                words = try errors.readEverything("the server's errors", atMost: 1 << 16)
            }
            throw Unexpected("\(error): \(String(decoding: words, as: UTF8.self))")
        }
        self.input = input
        self.output = output
        self.child = child
    }

    private static func awaitReady(_ output: borrowing Descriptor) throws {
        try waitUntilReady(output.number)
        var bytes: [UInt8] = []
        _ = try output.readSome(appendingTo: &bytes, atMost: 64)
        guard String(decoding: bytes, as: UTF8.self).hasPrefix("ready") else {
            throw Unexpected("the server says \(String(decoding: bytes, as: UTF8.self))")
        }
    }

    /// The directory of its standby's socket.
    var standbySocketDirectory: String { directory.file("standby-socket") }

    /// Has the server die and come back, or stand still and go on.
    ///
    /// - Parameter command: `restart`, or `stop` and `start`; `freeze` and `thaw`; `standby`.
    /// - Blocks: until that is done.
    package func control(_ command: String) throws {
        try isBusy.withLock { _ in
            try input.write(everything: Array("\(command)\n".utf8))
            try Self.awaitReady(output)
        }
    }

    /// Has all writes to its tables fail for lack of room from now on, or none.
    package func setDisk(isFull: Bool) throws {
        try File.write(
            Array((isFull ? "ENOSPC write 1 0" : "").utf8), to: directory.file("disk"),
            mode: 0o644)
    }

    /// The directory of its socket.
    package var socketDirectory: String { directory.file("socket") }

    /// Makes an empty database.
    ///
    /// - Returns: its address.
    package func makeDatabase() throws -> String {
        let (number, _) = lastDatabase.add(1, ordering: .relaxed)
        let name = "test_\(number)"
        try run("CREATE DATABASE \(name)", in: "postgres")
        return address(of: name)
    }

    /// The address of a database.
    package func address(of name: String, user: String = "workerd") -> String {
        "postgresql://\(user)@/\(name)?host=\(socketDirectory)"
    }

    /// Runs statements with psql: an outside referee.
    ///
    /// - Returns: the rows, unaligned.
    @discardableResult
    package func run(_ sql: String, in database: String) throws -> String {
        try Self.run(sql, at: address(of: database))
    }

    /// Runs statements with psql in the database of an address.
    @discardableResult
    package static func run(_ sql: String, at address: String) throws -> String {
        let run = try ProgramRun(
            "/usr/bin/psql",
            ["--no-psqlrc", "-qAt", "-v", "ON_ERROR_STOP=1", "-d", address, "-c", sql])
        guard run.status == .exited(0) else { throw Unexpected("psql \(sql): \(run.output)") }
        return run.output
    }
}
