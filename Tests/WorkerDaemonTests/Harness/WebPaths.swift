// The paths of HTTP, as the daemon has them in its tables.

@testable import WorkerDaemon

/// The paths of HTTP.
enum WebPaths {
    /// Each path for programs, with its method: `GET /api/jobs/{id}`.
    static var all: [String] { WebRoute.api.map(\.name) }

    /// The paths of the page's files.
    static var page: [String] { PageAsset.all.map(\.path) }
}
