// A command with what it was given: checked words and options, and the way to the daemon.

internal import Kernel
internal import Wording
internal import WorkerClient

/// One use of a command.
struct Invocation {
    let command: Subcommand
    /// The words behind the command's name.
    let words: [ArgumentLine.Word]
    private let line: ArgumentLine

    init(_ line: ArgumentLine, of command: Subcommand) throws(Failure) {
        self.command = command
        self.line = line
        colour = try Style.Colour(line)
        words = Array(line.words.dropFirst())
        for option in Option.allCases where line.has(option) {
            guard command.options.contains(option) || Option.common.contains(option) else {
                throw .usage(
                    "\(command.name) has no option \(option.rawValue)",
                    try: "workerctl help \(command.name)")
            }
        }
        let isLifted = command.lifted.map(line.has) == true
        let range = command.wordCount.lowerBound...(isLifted ? .max : command.wordCount.upperBound)
        guard range.contains(words.count) else {
            let fault = words.count > range.upperBound ? "too many" : "too few"
            let words = command.arguments.isEmpty ? "" : " \(command.arguments)"
            throw .usage(
                "\(fault) arguments: workerctl \(command.name)\(words)",
                try: "workerctl help \(command.name)")
        }
    }

    var isJSON: Bool { line.has(.json) }
    var style: Style { Style(for: .output, colour) }
    /// How texts on standard error look.
    var errorStyle: Style { Style(for: .error, colour) }
    private let colour: Style.Colour

    func has(_ option: Option) -> Bool { line.has(option) }

    func text(_ option: Option) -> String? { line.value(of: option) }

    func texts(_ option: Option) -> [String] { line.lists[option] ?? [] }

    /// The variables given with `--env`.
    func variables() throws(Failure) -> [String: String] {
        var variables: [String: String] = [:]
        for text in texts(.variable) {
            guard let sign = text.firstIndex(of: "="), sign > text.startIndex else {
                throw .usage("--env is NAME=VALUE, not '\(text)'", try: "--env WIDTH=40")
            }
            variables[String(text[..<sign])] = String(text[text.index(after: sign)...])
        }
        return variables
    }

    /// The word at a place behind the command's name.
    func word(_ index: Int) -> String { words[index].text }

    /// The job's number at a place behind the command's name.
    func id(_ index: Int) throws(Failure) -> UInt64 {
        guard let id = UInt64(word(index)), id > 0 else {
            throw .usage(
                "a job's number is a positive integer, not '\(word(index))'",
                try: "\(program) jobs")
        }
        return id
    }

    func duration(_ option: Option) throws(Failure) -> Duration? {
        guard let text = text(option) else { return nil }
        guard let milliseconds = Durations.milliseconds(text) else {
            throw .usage(
                "\(option.rawValue) is a time, such as 500 (ms), 250ms, 30s, 5m or 1h, "
                    + "not '\(text)'",
                try: "\(option.rawValue) 30s")
        }
        return .milliseconds(milliseconds)
    }

    func count(_ option: Option, _ range: ClosedRange<Int>) throws(Failure) -> Int? {
        guard let text = text(option) else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw .usage(
                "\(option.rawValue) is a number from \(range.lowerBound) to \(range.upperBound), "
                    + "not '\(text)'", try: "workerctl help \(command.name)")
        }
        return value
    }

    /// The moment of an option, in milliseconds since 1970-01-01 00:00 UTC.
    func moment(_ option: Option) throws(Failure) -> Int64? {
        guard let text = text(option) else { return nil }
        guard
            let moment = Moments.unixMilliseconds(text, now: WallClock.unixMilliseconds())
        else {
            throw .usage(
                "\(option.rawValue) is a moment, such as \(Moments.forms), not '\(text)'",
                try: "\(option.rawValue) 14:30")
        }
        guard (0...Int64(PerformOptions.millisecondsMax)).contains(moment) else {
            throw .usage(
                "\(option.rawValue) in milliseconds is from 0 to "
                    + "\(PerformOptions.millisecondsMax), not '\(text)'",
                try: "\(option.rawValue) 14:30")
        }
        return moment
    }

    /// The state of a job that `--state` names.
    func jobState() throws(Failure) -> JobSummary.State? {
        guard let name = text(.state)?.lowercased() else { return nil }
        let known = JobSummary.State.all.map(\.rawValue)
        guard known.contains(name) else {
            let near = Spelling.nearest(to: name, among: known) ?? "running"
            throw .usage(
                "a job's state is one of \(known.joined(separator: ", ")), not '\(name)'",
                try: "--state \(near)")
        }
        return JobSummary.State(rawValue: name)
    }

    /// The conditions on jobs that any command about many jobs takes, beside thread and state.
    func conditions() throws(Failure) -> JobConditions {
        JobConditions(
            selector: text(.selector), key: text(.key).map { Array($0.utf8) },
            olderThan: try duration(.older), newerThan: try duration(.newer),
            reason: text(.reason))
    }

    /// How long to wait for a job; nil without `--wait`.
    func jobWait() throws(Failure) -> JobWait? {
        guard has(.wait) else { return nil }
        return try duration(.wait).map(JobWait.atMost) ?? .forever
    }

    /// How this program is called to reach the same daemon.
    var program: String {
        let options: [Option] = [.socket, .tcp, .user, .passwordFile]
        return options.reduce("workerctl") { line, option in
            line + (text(option).map { " \(option.rawValue) \($0)" } ?? "")
        }
    }

    /// Connects to the daemon and does something with it.
    ///
    /// - Parameter what: the action and its object, for an error: `can't cancel job 5`.
    func withDaemon<Result>(
        _ what: @autoclosure () -> String,
        _ body: (WorkerClient) throws(WorkerClientError) -> Result
    ) throws(Failure) -> Result {
        let address = try address()
        do throws(WorkerClientError) {
            // A result is shown, however large the configuration lets it be.
            let options = ClientOptions(replyByteCountMax: .max)
            return try body(try WorkerClient(address, options: options))
        } catch {
            throw Failure(error, what: what(), program: program)
        }
    }

    /// The daemon that is meant.
    func address() throws(Failure) -> WorkerAddress {
        if has(.socket) && has(.tcp) {
            throw .usage("--socket and --tcp: one of them", try: "workerctl help")
        }
        if has(.passwordFile) && !has(.tcp) && !has(.user) {
            throw .usage(
                "--password-file is for --tcp and --user; a socket asks for none",
                try: "workerctl help")
        }
        let isEncrypted = text(.tcp)?.contains("://") == true
        for option in [Option.cacert, .cert, .certKey, .tlsName] where has(option) && !isEncrypted {
            throw .usage(
                "\(option.rawValue) is for TLS", try: "--tcp tls://\(text(.tcp) ?? "HOST:PORT")")
        }
        let password = try password()
        let address: WorkerAddress
        if let tcp = text(.tcp) {
            address = try port(tcp, password)
            if let fault = address.fault {
                throw .usage("--tcp: \(fault)", try: "--tcp 127.0.0.1:7711")
            }
        } else {
            let socket = text(.socket).map(WorkerAddress.unix) ?? .standard()
            address = try trustedUserID().map(socket.trusting) ?? socket
        }
        guard let user = text(.user) else { return address }
        guard let password else {
            throw .usage(
                "--user needs --password-file, a file with the user's secret",
                try: "workerctl help")
        }
        return address.authenticating(as: user, secret: password)
    }

    /// A port, with TLS if it begins with `tls://`, or with `rediss://` as Redis clients write it.
    private func port(_ text: String, _ password: String?) throws(Failure) -> WorkerAddress {
        if let scheme = ["tls://", "rediss://"].first(where: text.hasPrefix) {
            return .tls(
                String(text.dropFirst(scheme.count)), password: password,
                ClientTLS(
                    authorities: self.text(.cacert), serverName: self.text(.tlsName),
                    certificate: self.text(.cert), key: self.text(.certKey)))
        }
        return .tcp(text, password: password)
    }

    private func trustedUserID() throws(Failure) -> UInt32? {
        guard let name = text(.trustUser) else { return nil }
        guard let userID = UInt32(name) ?? UserID.named(name) else {
            throw .usage(
                "--trust-user is a user of this machine, or its number, not '\(name)'",
                try: "id -u NAME")
        }
        return userID
    }

    private func password() throws(Failure) -> String? {
        guard let path = text(.passwordFile) else { return nil }
        do throws(SystemError) {
            let line = File.firstLine(of: try File.read(path, atMost: 4_096))
            return String(decoding: line, as: UTF8.self)
        } catch {
            throw Failure(
                what: "can't read the password from \(path)", reason: error.reason,
                advice: "a file whose first line is the password, that you may read",
                status: .noInput)
        }
    }
}
