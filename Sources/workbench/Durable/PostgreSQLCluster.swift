// A PostgreSQL cluster for one round. PostgreSQL refuses to run as root, so root runs it as the
// user of the package, who then owns the directory.

internal import Foundation
internal import Kernel

enum PostgreSQLCluster {
    /// The directory of the newest version's programs in Debian; nil if there are none.
    private static var programs: String? {
        let versions = "/usr/lib/postgresql"
        let newest = ((try? Directory.names(in: versions)) ?? []).compactMap { Int($0) }.max()
        guard let newest else { return nil }
        let directory = "\(versions)/\(newest)/bin"
        return FileManager.default.isExecutableFile(atPath: "\(directory)/initdb")
            ? directory : nil
    }

    static var obstacle: String? {
        programs == nil ? "there is no PostgreSQL server; Scripts/bench installs it" : nil
    }

    /// Makes a cluster with the table of jobs.
    static func create(in directory: String) throws {
        if isRoot {
            try FileManager.default.setAttributes(
                [.ownerAccountName: PostgreSQLDialect.user], ofItemAtPath: directory)
        }
        // initdb's files need no sync: no power cut is survived here.
        try Executable.run(
            command(
                "initdb",
                [
                    "--pgdata", data(directory), "--username", PostgreSQLDialect.user,
                    "--auth", "trust", "--no-sync", "--encoding", "UTF8", "--locale", "C",
                ]))
        try Executable.run(
            command("postgres", ["--single", "-D", data(directory), "postgres"]),
            input: PostgreSQLDialect.table + "\n")
    }

    static func server(in directory: String) throws -> ChildCommand {
        try command(
            "postgres",
            [
                "-D", data(directory), "-k", directory, "-c", "listen_addresses=",
                "-c", "fsync=on", "-c", "synchronous_commit=on", "-c", "log_min_messages=fatal",
            ])
    }

    private static func data(_ directory: String) -> String { "\(directory)/data" }

    private static var isRoot: Bool { NSUserName() == "root" }

    private static func command(_ name: String, _ arguments: [String]) throws -> ChildCommand {
        guard let programs else { throw WorkbenchError(obstacle ?? "there is no PostgreSQL") }
        var command = ChildCommand(program: "\(programs)/\(name)", arguments: arguments)
        // Not the directory in which this program was started: the other user may not enter it.
        command.workingDirectory = "/"
        guard isRoot else { return command }
        let user = PostgreSQLDialect.user
        command.arguments =
            ["--reuid", user, "--regid", user, "--init-groups", command.program] + arguments
        command.program = try Executable.find("setpriv")
        return command
    }
}
