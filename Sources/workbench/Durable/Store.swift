// The servers that keep jobs on a disk and answer when they are there: how each is started, always at
// a Unix socket in a directory of its own.

internal import Kernel

/// A kind of server that keeps jobs.
struct Store: Sendable {
    /// What a server that is started is for.
    enum Purpose: Sendable {
        /// Nothing is answered before it is on the disk.
        case durable
        /// A million jobs are to lie there soon: beanstalkd, which syncs for each, does not.
        case filling
    }

    let contender: String
    let dialect: @Sendable () -> any StoreDialect
    var socketName = "socket"
    /// Why it can't be started here; nil if it can.
    var obstacle: @Sendable () -> String? = { nil }
    /// Makes in an empty directory what the server needs there.
    var prepare: @Sendable (_ directory: String) throws -> Void = { _ in }
    /// The program, given its directory and the path of the socket that it has to listen at.
    let command: @Sendable (_ directory: String, _ socket: String, Purpose) throws -> ChildCommand

    /// All of them, ours first.
    static let all = [workerd, leastServer, leastSQLiteServer, redis, beanstalkd, postgreSQL]
    /// Those that a job can be taken from, or looked at, some day.
    static let keeping = [workerd, redis, beanstalkd, postgreSQL]

    /// The workerd beside this program, its jobs in a file.
    ///
    /// What is sent to `store` waits there once that is paused; what is sent to `run` and `timely` runs.
    static let workerd = Store(
        contender: Contender.ours, dialect: { LineDialect.command("PERFORM", "store", "echo") }
    ) { directory, socket, _ in
        let configuration = """
            { listen: { unix: "\(socket)", unixMode: "0600" }, store: "\(directory)/jobs.sqlite",
              threads: { store: { maxQueued: 2000000 }, run: {}, timely: {} },
              log: { level: "warning" } }
            """
        let path = "\(directory)/workerd.json5"
        try File.write(Array(configuration.utf8), to: path)
        return ChildCommand(
            program: try Executable.beside("workerd"), arguments: ["--config", path])
    }

    /// What any of them does at least.
    static let leastServer = least(.file, Contender.leastServer)
    /// What workerd does at least, since it keeps its jobs with SQLite and serves meanwhile.
    static let leastSQLiteServer = least(.sqlite, Contender.leastSQLiteServer)

    private static func least(_ kind: LeastServer, _ contender: String) -> Store {
        Store(contender: contender, dialect: { LeastServer.dialect }) { directory, socket, _ in
            ChildCommand(program: try Executable.own(), arguments: [kind.rawValue, directory])
        }
    }

    /// Redis, its append-only file synced before it answers.
    static let redis = Store(
        contender: Contender.redis, dialect: { LineDialect.command("RPUSH", "jobs") },
        obstacle: { Executable.obstacle("redis-server") }
    ) { directory, socket, _ in
        ChildCommand(
            program: try Executable.find("redis-server"),
            arguments: [
                "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "yes",
                "--appendfsync", "always", "--loglevel", "warning", "--dir", directory,
            ])
    }

    /// beanstalkd, its log synced with each job.
    static let beanstalkd = Store(
        contender: Contender.beanstalkd, dialect: { LineDialect.beanstalkd },
        obstacle: { Executable.obstacle("beanstalkd") }
    ) { directory, socket, purpose in
        ChildCommand(
            program: try Executable.find("beanstalkd"),
            arguments: [
                "-l", "unix:\(socket)", "-b", directory, purpose == .filling ? "-F" : "-f0",
            ])
    }

    /// PostgreSQL with Debian's settings, in a cluster of its own.
    static let postgreSQL = Store(
        contender: Contender.postgreSQL, dialect: { PostgreSQLDialect() },
        socketName: ".s.PGSQL.5432", obstacle: { PostgreSQLCluster.obstacle },
        prepare: { try PostgreSQLCluster.create(in: $0) }
    ) { directory, _, _ in try PostgreSQLCluster.server(in: directory) }
}
