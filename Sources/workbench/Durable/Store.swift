// The servers that store jobs on a disk before they answer: how each is started, always at a Unix
// socket in a directory of its own.

internal import CMeasure
internal import Kernel

/// A kind of server that stores jobs.
struct Store: Sendable {
    /// The purpose of a started server.
    enum Purpose: Sendable {
        /// Every answer follows a sync.
        case durable
        /// A million jobs are to be stored soon: beanstalkd, which syncs for each, does not sync.
        case filling
    }

    let contender: String
    let dialect: @Sendable () -> any StoreDialect
    var socketName = "socket"
    /// The reason why it can't be started here; nil if it can.
    var obstacle: @Sendable () -> String? = { nil }
    /// Prepares an empty directory for the server.
    var prepare: @Sendable (_ directory: String) throws -> Void = { _ in }
    /// The program, given its directory and the path of the socket to listen at.
    let command: @Sendable (_ directory: String, _ socket: String, Purpose) throws -> ChildCommand

    /// All of them, ours first.
    static let all = [workerd, leastServer, leastSQLiteServer, redis, beanstalkd, postgreSQL]
    /// The servers that jobs can be taken from, or looked at.
    static let keeping = [workerd, redis, beanstalkd, postgreSQL]

    /// The workerd beside this program, its jobs in a file.
    ///
    /// Jobs sent to `store` wait there once that is paused; jobs sent to `run` and `timely` run.
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

    /// The least that any of them does.
    static let leastServer = least(.file, Contender.leastServer)
    /// The least that workerd does, since it stores its jobs with SQLite and serves meanwhile.
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

/// A kind of least server, as the argument that makes this program one.
enum LeastServer: String {
    /// One thread, which writes a file.
    case file = "--least-server"
    /// workerd's design: a thread that serves, and one that writes with SQLite.
    case sqlite = "--least-sqlite-server"

    /// The same bytes that workerd gets.
    static let dialect = LineDialect.command("PERFORM", "store", "echo")

    /// Serves at `socket` in a directory until it is killed.
    func serve(in directory: String) throws(WorkbenchError) {
        let (socket, file) = ("\(directory)/socket", "\(directory)/jobs")
        let size = Self.dialect.job.count
        let result =
            switch self {
            case .file: unsafe measure_serve_synced(socket, file, size)
            case .sqlite: unsafe measure_serve_with_sqlite(socket, file, size)
            }
        throw WorkbenchError("the least server does not serve: errno \(-result)")
    }
}
