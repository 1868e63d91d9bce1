// `workerctl doctor`: a line for each check, with its verdict and its remedy. Each check is a
// function that gives findings.

internal import Glibc
internal import Kernel
internal import Wording
internal import WorkerClient

enum DoctorSubcommand {
    static var subcommand: Subcommand {
        Subcommand(
            name: "doctor", arguments: "",
            summary: "Checks configuration, socket, rights, certificates, store, limits, clock.",
            details: """
                Each line is ok, warn or FAIL, with what to do. The exit status is 1 if one is FAIL.
                The configuration is the one that the running daemon was started with, else
                /etc/workerd/workerd.json5.
                """, wordCount: 0...0, options: [.config]
        ) { (invocation) throws(Failure) in
            let doctor = Doctor(
                try invocation.address(), program: invocation.program,
                namedConfiguration: invocation.text(.config))
            let findings = doctor.findings()
            if invocation.isJSON {
                try Output.write(.object([("checks", .array(findings.map(\.json)))]))
            } else {
                for finding in findings { try Output.write(finding.line(invocation.style)) }
            }
            if findings.contains(where: { $0.state == .fail }) { throw .told(.failed) }
        }
    }
}

/// The checks of one daemon.
struct Doctor {
    /// Where the configuration is unless something else is known.
    private static let usualConfiguration = "/etc/workerd/workerd.json5"

    let address: WorkerAddress
    let program: String
    /// The file that was named with `--config`.
    let namedConfiguration: String?
    /// The daemon's own figures; nil if it does not answer.
    private let figures: [String: String]?
    /// The daemons with its store; none if it does not tell.
    let nodes: [NodeDescription]
    /// Why the daemon can't tell them, if its store is away.
    private let storeFault: String?
    /// How the daemon answers.
    private let answer: Finding
    /// How far the daemon's clock was ahead of ours, in milliseconds, and how long its answer took.
    private let clock: (ahead: Int64, within: Int64)?

    /// Asks the daemon.
    init(_ address: WorkerAddress, program: String, namedConfiguration: String?) {
        self.address = address
        self.program = program
        self.namedConfiguration = namedConfiguration
        do throws(WorkerClientError) {
            let client = try WorkerClient(
                address, options: ClientOptions(replyTimeout: .seconds(5)))
            let before = WallClock.unixMilliseconds()
            var figures: [String: String] = [:]
            for line in try client.info(nil).split(whereSeparator: \.isNewline) {
                let parts = line.split(separator: ":", maxSplits: 1)
                if parts.count == 2 { figures[String(parts[0])] = String(parts[1]) }
            }
            let after = WallClock.unixMilliseconds()
            self.figures = figures
            (nodes, storeFault) = Self.nodes(client)
            let version = figures["workerd_version", default: "?"]
            answer =
                version == Release.version
                ? .ok("daemon", "workerd \(version) answers in \(after - before) ms")
                : .warn(
                    "daemon", "workerd is \(version), workerctl \(Release.version)",
                    try: "restart workerd, if its new version is installed")
            clock = figures["server_time_usec"].flatMap { Int64($0) }.map {
                ($0 / 1_000 - (before + after) / 2, after - before)
            }
        } catch {
            figures = nil
            nodes = []
            storeFault = nil
            clock = nil
            let failure = Failure(error, what: "no answer", program: program)
            answer = .fail("daemon", Self.noAnswer + failure.reason, try: failure.advice)
        }
    }

    /// The daemons with its store, or why its store does not tell them.
    private static func nodes(_ client: WorkerClient) -> ([NodeDescription], String?) {
        do throws(WorkerClientError) {
            return (try client.nodes(), nil)
        } catch {
            guard case .daemon("BUSY", let reason) = error else { return ([], nil) }
            return ([], reason)
        }
    }

    /// All findings, in the order in which they are told.
    func findings() -> [Finding] {
        configuration() + socket() + [answer] + certificates() + jobs() + store()
            + nodeFindings() + limits() + clockFinding() + service()
    }

    private func figure(_ name: String) -> Int? { figures?[name].flatMap { Int($0) } }

    // MARK: - Configuration

    private func configuration() -> [Finding] {
        let path = namedConfiguration ?? pathOfRunningConfiguration() ?? Self.usualConfiguration
        let name = "configuration"
        var isThere = true
        do throws(UnreadableFile) {
            _ = try File.readRegular(path, atMost: 16 << 20)
        } catch .system(let error) where error.isLackOfFile {
            isThere = false
        } catch {
            let advice: String? =
                if case .system = error { "as root, or as the user of workerd" } else { nil }
            return [.fail(name, "\(path) can't be read: \(error.reason)", try: advice)]
        }
        guard isThere else {
            return [
                namedConfiguration == nil
                    ? .warn(name, "there is no \(path)", try: "\(program) doctor --config FILE")
                    : .fail(name, "there is no \(path)", try: "another path")
            ]
        }
        guard let daemon = ChildRun.pathOfDaemon() else {
            return [
                .warn(
                    name,
                    "\(path) is not checked: there is no workerd beside workerctl or in PATH",
                    try: "workerd --config \(path) --check where it is installed")
            ]
        }
        do throws(SystemError) {
            let run = try ChildRun(daemon, ["--config", path, "--check"])
            let lines = run.errors.split(separator: "\n").map(String.init)
            guard run.status == 0 else {
                let more = lines.count > 1 ? ", and \(counted(lines.count - 1, "more fault"))" : ""
                return [
                    .fail(
                        name, (lines.first ?? "\(path) is faulty") + more,
                        try: "\(daemon) --config \(path) --check")
                ]
            }
            guard !lines.isEmpty else { return [.ok(name, "\(path) has no fault")] }
            return lines.map { .warn(name, $0, try: nil) }
        } catch {
            return [.warn(name, "\(path) is not checked: \(error)", try: nil)]
        }
    }

    /// The file that the running daemon was started with.
    private func pathOfRunningConfiguration() -> String? {
        guard let process = figure("process_id"), isLocal,
            let bytes = try? File.read("/proc/\(process)/cmdline", atMost: 65_536)
        else { return nil }
        let words = bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        var path: String?
        for (index, word) in words.enumerated() {
            if word.hasPrefix("--config=") { path = String(word.dropFirst("--config=".count)) }
            if word == "--config", index + 1 < words.count { path = words[index + 1] }
        }
        guard let path, !path.hasPrefix("/") else { return path }
        return File.target(ofLink: "/proc/\(process)/cwd").map {
            Directory.path(of: path, in: $0)
        }
    }

    // MARK: - Socket and rights

    /// The path of the socket; nil for a port.
    private var path: String? { address.description.hasPrefix("/") ? address.description : nil }
    private var isLocal: Bool { path != nil }

    private func socket() -> [Finding] {
        guard let path else { return [.ok("socket", "a port: \(address)")] }
        let kind: File.Kind?
        do throws(SystemError) {
            kind = try File.kind(of: path)
        } catch {
            return [.fail("socket", "\(path): \(error.reason)", try: rightsAdvice)]
        }
        guard let kind else {
            return [
                .fail(
                    "socket", "there is no \(path)",
                    try: "start workerd, or say where its socket is: --socket PATH")
            ]
        }
        guard kind == .socket, let owner = try? File.owner(of: path) else {
            return [.fail("socket", "\(path) is no socket", try: "--socket PATH")]
        }
        let mode = String(owner.mode, radix: 8)
        let text = "\(path) belongs to uid \(owner.userID), mode \(mode)"
        return [.ok("socket", text)] + rights
    }

    /// Whether this user may connect; nothing if the daemon does not answer for another reason.
    private var rights: [Finding] {
        if figures != nil { return [.ok("rights", "uid \(UserID.own) may connect")] }
        guard answer.text == Self.noAnswer + Self.forbidden else { return [] }
        return [.fail("rights", "uid \(UserID.own) may not connect", try: rightsAdvice)]
    }

    private static let noAnswer = "no answer: "
    /// As the kernel says it.
    private static let forbidden = SystemError(operation: "connect", errno: EACCES).reason

    private var rightsAdvice: String {
        "as root, or a group for clients: unixMode: \"0660\", and usermod -aG workerd USER"
    }

    // MARK: - Certificates

    /// A certificate that ends within so many seconds is a warning: two weeks.
    private static let renewalSeconds = 14 * 86_400

    /// The certificates that the doors of the running daemon show.
    private func certificates() -> [Finding] {
        let now = (figure("server_time_usec") ?? 0) / 1_000_000
        return [("redis", "tls"), ("http", "http.tls")].compactMap { door, setting in
            figure("certificate_expires_\(door)").map { end in
                certificate(of: "listen.\(setting)", endsIn: end - now)
            }
        }
    }

    private func certificate(of setting: String, endsIn seconds: Int) -> Finding {
        let span = Durations.span(Int64(abs(seconds)) * 1_000)
        let advice = "a new certificate in its files, then \(program) reload"
        if seconds <= 0 {
            return .fail("certificate", "that of \(setting) expired \(span) ago", try: advice)
        }
        let text = "that of \(setting) is valid for \(span)"
        return seconds < Self.renewalSeconds
            ? .warn("certificate", text, try: advice) : .ok("certificate", text)
    }

    // MARK: - Jobs and store

    private func jobs() -> [Finding] {
        guard figures != nil else { return [] }
        let troubles = [
            ("stuck_jobs", "stuck"), ("orphaned_jobs", "orphaned"),
            ("stalled_queues", "in stalled queues"),
            ("schedules_without_room", "schedules without room"),
            ("total_submits_refused_in_store", "refused that were submitted by SQL"),
        ].compactMap { name, words in
            figure(name).flatMap { $0 > 0 ? "\($0) \(words)" : nil }
        }
        guard !troubles.isEmpty else { return [.ok("jobs", "none is stuck or orphaned")] }
        return [
            .warn("jobs", troubles.joined(separator: ", "), try: "\(program) threads, and the log")
        ]
    }

    /// The room on the disk below which there is a warning, and a failure.
    private static let freeByteCounts = (few: 1 << 30, tooFew: 64 << 20)

    /// Whether the daemon's store is a database, which others may share.
    var hasDatabase: Bool {
        let name = figures?["store"] ?? ""
        return name.hasPrefix("postgresql://") || name.hasPrefix("postgres://")
    }

    private func store() -> [Finding] {
        guard let name = figures?["store"] else { return [] }
        if let storeFault {
            return [.fail("store", "\(name): \(storeFault)", try: "the daemon's log")]
        }
        if hasDatabase { return [.ok("store", name)] }
        guard name.hasPrefix("/") else {
            return [
                .warn(
                    "store", "jobs are in memory only, and end with workerd",
                    try: "store: \"/var/lib/workerd/jobs.sqlite\" in the configuration")
            ]
        }
        guard isLocal else { return [.ok("store", "\(name), on the daemon's machine")] }
        let directory = Directory.parent(of: name)
        let free: Int
        do throws(SystemError) {
            free = try Directory.freeByteCount(of: directory)
        } catch {
            return [
                .warn("store", "\(directory) can't be looked at: \(error.reason)", try: "as root")
            ]
        }
        let sizes = ["", "-wal", "-attempts"].compactMap { suffix in
            (try? File.byteCount(of: name + suffix)) ?? nil
        }
        let size = sizes.isEmpty ? "" : " has \(Self.size(sizes.reduce(0, +)))"
        let text = "\(name)\(size), \(Self.size(free)) are free"
        let advice = "make room on the disk of \(directory)"
        if free < Self.freeByteCounts.tooFew { return [.fail("store", text, try: advice)] }
        if free < Self.freeByteCounts.few { return [.warn("store", text, try: advice)] }
        return [.ok("store", text)]
    }

    private static func size(_ byteCount: Int) -> String {
        if byteCount < 10 << 20 { return "\(byteCount >> 10) KB" }
        return byteCount < 10 << 30 ? "\(byteCount >> 20) MB" : "\(byteCount >> 30) GB"
    }

    // MARK: - Limits and clock

    /// Descriptors beside those of clients: the store, threads and programs.
    private static let ownDescriptorCount = 64

    private func limits() -> [Finding] {
        guard isLocal, let process = figure("process_id"), let clients = figure("maxclients"),
            let bytes = try? File.read("/proc/\(process)/limits", atMost: 65_536)
        else { return [] }
        let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
            .first { $0.hasPrefix("Max open files") }
        guard let words = line?.split(separator: " "), words.count > 3, let limit = Int(words[3])
        else { return [] }
        let needed = clients + Self.ownDescriptorCount
        guard limit < needed else {
            return [.ok("limits", "\(limit) open files, for \(counted(clients, "connection"))")]
        }
        return [
            .warn(
                "limits", "\(limit) open files, and \(clients) connections need \(needed)",
                try: "LimitNOFILE= in the unit, or lower limits.connections")
        ]
    }

    /// Clocks that differ by less are the same.
    private static let clockTolerance: Int64 = 2_000

    private func clockFinding() -> [Finding] {
        guard let clock else { return [] }
        guard abs(clock.ahead) > Self.clockTolerance + clock.within else {
            return [.ok("clock", "the daemon's is ours, within \(max(1, clock.within)) ms")]
        }
        let span = Durations.span(abs(clock.ahead))
        return [
            .warn(
                "clock", "the daemon's is \(span) \(clock.ahead > 0 ? "ahead of" : "behind") ours",
                try: "a time service (chrony, systemd-timesyncd) on both machines")
        ]
    }

    // MARK: - systemd

    private func service() -> [Finding] {
        guard isLocal, (try? File.kind(of: "/run/systemd/system")) == .directory,
            let systemctl = try? Program.find("systemctl", in: "/usr/bin:/bin"),
            let run = try? ChildRun(
                systemctl,
                ["show", "workerd.service", "--property=LoadState,ActiveState,SubState,NRestarts"])
        else { return [.ok("systemd", "does not run here")] }
        var values: [String: String] = [:]
        for line in run.output.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
        }
        guard values["LoadState"] == "loaded" else {
            return [.ok("systemd", "has no workerd.service")]
        }
        let state = "workerd.service is \(values["ActiveState", default: "?"])"
        let advice = "journalctl --unit workerd"
        if values["ActiveState"] == "failed" { return [.fail("systemd", state, try: advice)] }
        if let count = values["NRestarts"].flatMap({ Int($0) }), count > 0 {
            return [
                .warn("systemd", "\(state), started anew \(counted(count, "time"))", try: advice)
            ]
        }
        return [.ok("systemd", state)]
    }
}
