// The servers that no server can be faster than: each has what it is sent on the disk, answers, and does
// nothing else. Another process of this program, so that it costs its clients what any server costs them.

internal import CMeasure

/// A kind of least server, as the argument that makes this program one.
enum LeastServer: String {
    /// One thread, which writes a file.
    case file = "--least-server"
    /// What workerd's design allows: a thread that serves, and one that writes with SQLite.
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
