// The server that no server can be faster than: it has what it is sent on the disk, answers, and does nothing
// else. Another process of this program, so that it costs its clients what any server costs them.

internal import CMeasure

enum LeastServer {
    /// The same bytes that workerd gets.
    static let dialect = LineDialect.command("PERFORM", "store", "echo")

    /// Serves at `socket` in a directory until it is killed.
    static func serve(in directory: String) throws(WorkbenchError) {
        let result = unsafe measure_serve_synced(
            "\(directory)/socket", "\(directory)/jobs", dialect.job.count)
        throw WorkbenchError("the least server does not serve: errno \(-result)")
    }
}
