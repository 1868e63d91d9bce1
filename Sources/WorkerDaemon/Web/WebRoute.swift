// The table of paths and their commands. The commands, with their checks and rights, are those of
// the Redis protocol.

internal import HTTP
internal import Jobs
internal import RESP
internal import Wording

/// A path with its method, and its command.
struct WebRoute: Sendable {
    /// The subject of a path.
    enum Content: Sendable {
        /// The answer to a command.
        case command(
            HTTPCall.Shape,
            @Sendable (WebRequest, Service) throws -> CommandArguments)
        /// Whether the daemon's loops turn and its store can be written; without a key.
        case health
        /// Whether the daemon takes jobs; without a key.
        case readiness
        /// Figures for Prometheus.
        case metrics
        /// A key of the page for a ticket; without a key.
        case openSession
        /// The user of the key.
        case session
        /// A response that goes on, with the messages of a source: its name, the rights for it, and
        /// the source.
        case stream(
            String, Access, @Sendable (WebRequest, Service, Session) throws -> any MessageSource)
        /// A file of the page; without a key.
        case asset(PageAsset)
    }

    /// GET also serves HEAD.
    let method: HTTPMethod
    /// With parameters in braces.
    let path: String
    let content: Content
    private let parts: [Substring]

    private init(_ method: HTTPMethod, _ path: String, _ content: Content) {
        self.method = method
        self.path = path
        self.content = content
        parts = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    }

    /// A path that means a command with the path's parameters as its arguments.
    private init(
        _ method: HTTPMethod, _ path: String, _ shape: HTTPCall.Shape, command: String...,
        query: [String] = []
    ) {
        self.init(
            method, path,
            .command(shape) { [command] request, _ in
                try request.checkQuery(query)
                try request.checkMembers([])
                var arguments = CommandArguments()
                for word in command { arguments.add(word) }
                for parameter in request.parameters { arguments.add(parameter) }
                return arguments
            })
    }

    /// The paths for programs.
    static let api: [WebRoute] = [
        WebRoute(.get, "/healthz", .health),
        WebRoute(.get, "/readyz", .readiness),
        WebRoute(.get, "/metrics", .metrics),
        WebRoute(.post, "/api/session", .openSession),
        WebRoute(.get, "/api/session", .session),
        WebRoute(
            .get, "/api/operations",
            .command(.member("operations")) { request, _ in
                try request.checkQuery(["count"])
                var arguments = CommandArguments("OPERATIONS")
                if let count = request.query("count") { arguments.add(count) }
                return arguments
            }),
        WebRoute(
            .get, "/api/jobs",
            .command(.jobs(limit: 0)) { request, service in
                try JobListRequest.arguments(request) { service.isThread($0) }
            }),
        WebRoute(
            .post, "/api/jobs",
            .command(.accepted) { request, _ in
                try request.checkQuery([])
                return try NewJobRequest.arguments(request)
            }),
        WebRoute(.get, "/api/jobs/{id}", .object, command: "JOB"),
        WebRoute(.get, "/api/jobs/{id}/payload", .member("payload"), command: "PAYLOAD"),
        WebRoute(
            .get, "/api/jobs/{id}/result",
            .command(.member("result")) { request, _ in
                try request.checkQuery(["wait"])
                var arguments = CommandArguments("RESULT", request.parameters[0])
                guard let wait = request.query("wait") else { return arguments }
                arguments.add("WAIT")
                if !wait.isEmpty { arguments.add(wait) }
                return arguments
            }),
        WebRoute(
            .get, "/api/jobs/{id}/output",
            .command(.member("output")) { request, _ in
                try request.checkQuery(["attempt"])
                var arguments = CommandArguments("OUTPUT", request.parameters[0])
                arguments.add("ATTEMPT", request.query("attempt"))
                return arguments
            }),
        WebRoute(.post, "/api/jobs/{id}/cancel", .member("answer"), command: "CANCEL"),
        WebRoute(.post, "/api/jobs/{id}/retry", .member("count"), command: "RETRY"),
        WebRoute(.post, "/api/jobs/{id}/drop", .member("count"), command: "DROP"),
        WebRoute(
            .post, "/api/bulk",
            .command(.object) { request, service in
                try BulkRequest.arguments(request) { service.isThread($0) }
            }),
        WebRoute(.get, "/api/bulk", .member("runs"), command: "BULK", "LIST"),
        WebRoute(
            .get, "/api/bulk/{id}",
            .command(.object) { request, _ in
                try request.checkQuery(["wait"])
                var arguments = CommandArguments("BULK", "STATUS", request.parameters[0])
                arguments.add("WAIT", request.query("wait"))
                return arguments
            }),
        WebRoute(.post, "/api/bulk/{id}/stop", .object, command: "BULK", "STOP"),
        WebRoute(
            .get, "/api/failures",
            .command(.member("groups")) { request, service in
                try request.checkQuery(ConditionsRequest.keys)
                var arguments = CommandArguments("FAILURES")
                try ConditionsRequest.add(to: &arguments, of: request) { service.isThread($0) }
                return arguments
            }),
        WebRoute(.get, "/api/threads", .member("threads"), command: "THREADS"),
        WebRoute(.get, "/api/threads/{name}", .object, command: "THREAD"),
        WebRoute(.post, "/api/threads/{name}/pause", .member("answer"), command: "PAUSE"),
        WebRoute(.post, "/api/threads/{name}/resume", .member("answer"), command: "RESUME"),
        WebRoute(.get, "/api/selectors", .member("selectors"), command: "SELECTORS"),
        WebRoute(
            .post, "/api/selectors/{name}/retry", .member("count"), command: "RETRY", "ALL"),
        WebRoute(.post, "/api/selectors/{name}/drop", .member("count"), command: "DROP", "ALL"),
        WebRoute(.get, "/api/schedules", .member("schedules"), command: "SCHEDULES"),
        WebRoute(
            .get, "/api/live",
            .stream("live", .observe) { try $1.liveMessages($0, $2) }),
        WebRoute(
            .get, "/api/events", .stream("events", .observe) { try $1.events($0, $2) }),
        WebRoute(
            .post, "/api/reload",
            .command(.member("changes")) { request, _ in
                try request.checkQuery([])
                try request.checkMembers(["dry"])
                var arguments = CommandArguments("RELOAD")
                arguments.addFlag("DRY", try request.flag("dry"))
                return arguments
            }),
        WebRoute(.get, "/api/workers", .member("workers"), command: "WORKERS"),
        WebRoute(.get, "/api/nodes", .member("nodes"), command: "NODES"),
    ]

    static let all = api + PageAsset.all.map { WebRoute(.get, $0.path, .asset($0)) }

    /// The method and the path.
    var name: String { "\(method.rawValue) \(path)" }

    /// The rights for the figures: they name all pools and selectors.
    static let metricsAccess = Access.observe.ofAllThreads

    /// Whether the answer is about all threads or such: it may be large, and is made in one go.
    var isOfAll: Bool {
        [
            "/api/threads", "/api/selectors", "/api/schedules", "/api/workers", "/api/operations",
        ].contains(path)
    }

    /// Whether a key is asked for.
    var needsKey: Bool {
        switch content {
        case .health, .readiness, .openSession, .asset: false
        case .metrics, .session, .command, .stream: true
        }
    }

    /// Whether pages of other servers are kept out: of all but the two words.
    var checksSite: Bool {
        switch content {
        case .health, .readiness: false
        case .metrics, .openSession, .session, .asset, .command, .stream: true
        }
    }

    /// Finds the subject of a request, and the values of the path's parameters.
    static func find(_ head: RequestHead) throws(HTTPRefusal) -> (WebRoute, [String]) {
        let method = head.method == .head ? HTTPMethod.get : head.method
        var isElsewhere = false
        for route in all {
            guard let parameters = route.parameters(of: head.target.segments) else { continue }
            guard route.method == method else {
                isElsewhere = true
                continue
            }
            return (route, parameters)
        }
        let place = "\(head.method.rawValue) \(head.target.text.prefix(100))"
        guard !isElsewhere else {
            throw HTTPRefusal(
                .methodNotAllowed,
                "\(place): this path is there for \(method == .get ? "POST" : "GET") only")
        }
        throw HTTPRefusal(.notFound, "\(place): there is no such path")
    }

    /// The values of the path's parameters; nil if it is another path.
    private func parameters(of segments: [String]) -> [String]? {
        guard segments.count == parts.count else { return nil }
        var parameters: [String] = []
        for (part, segment) in zip(parts, segments) {
            if part.hasPrefix("{") {
                guard !segment.isEmpty else { return nil }
                parameters.append(segment)
            } else if part != segment {
                return nil
            }
        }
        return parameters
    }
}
