// The failed action, its object, and a remedy. The status that the program exits with is in
// ExitStatus.swift.

internal import WorkerClient

/// Why the program could not do what it was asked to.
struct Failure: Error, CustomStringConvertible {
    /// The failed action and its object: `can't perform 'echo' on thread 'images'`.
    let what: String
    let reason: String
    /// The word for programs; nil unless the daemon said no.
    var word: String?
    /// Advice: a command line, or a sentence.
    var advice: String?
    let status: Status
    /// Whether everything was told already, and only the status is left.
    var isTold = false

    /// One sentence.
    var description: String {
        let shown = word.map { " (\($0))" } ?? ""
        return what.isEmpty ? reason + shown : "\(what): \(reason)\(shown)"
    }

    /// The same for programs.
    var json: JSON {
        .object([
            (
                "error",
                .object([
                    ("word", word.map(JSON.string) ?? .null), ("message", .string(reason)),
                    ("what", what.isEmpty ? .null : .string(what)),
                    ("try", advice.map(JSON.string) ?? .null),
                    ("status", .integer(Int(status.rawValue))),
                ])
            )
        ])
    }

    /// The same with a word of the daemon's commands as it is called here.
    func saying(_ word: String, as name: String) -> Failure {
        let words = reason.split(separator: " ", omittingEmptySubsequences: false)
        return Failure(
            what: what, reason: words.map { $0 == word ? name : String($0) }.joined(separator: " "),
            word: self.word, advice: advice, status: status)
    }

    /// The status of a failure that was told already.
    static func told(_ status: Status) -> Failure {
        Failure(what: "", reason: "", status: status, isTold: true)
    }

    /// The command line is wrong.
    static func usage(_ reason: String, try advice: String) -> Failure {
        Failure(what: "", reason: reason, advice: advice, status: .usage)
    }
}

extension Failure {
    /// A failure that the client reports.
    ///
    /// - Parameters:
    ///   - what: the failed action and its object.
    ///   - program: `workerctl` with the address that it was given, for commands to try.
    init(_ error: WorkerClientError, what: String, program: String) {
        switch error {
        case .daemon("NOAUTH", _):
            self.init(
                what: what, reason: "workerd asks for a password here", word: "NOAUTH",
                advice: Self.passwordAdvice, status: .notAllowed)
        case .daemon("WRONGPASS", _):
            self.init(
                what: what, reason: "workerd has another password", word: "WRONGPASS",
                advice: Self.passwordAdvice, status: .notAllowed)
        case .daemon(let word, let message):
            self.init(
                what: what, reason: message, word: word,
                advice: Self.advice(word, message, program),
                status: Status(word: word, message: message))
        case .notConnected(let address, let reason, let advice):
            self.init(
                what: "can't reach workerd at \(address)", reason: reason, advice: advice,
                status: .unavailable)
        case .timedOut:
            self.init(
                what: what, reason: error.description,
                advice: "\(program) ping", status: .timeout)
        case .protocolFault, .closed, .tooManyOutstanding:
            self.init(
                what: what, reason: error.description, advice: "\(program) ping",
                status: .unavailable)
        }
    }

    private static let passwordAdvice =
        "--user default --password-file FILE, with what the daemon's listen.passwordFile says, or "
        + "--user NAME with a user's secret"

    private static func advice(_ word: String, _ message: String, _ program: String) -> String? {
        switch word {
        case "NOTHREAD": return "\(program) threads"
        case "NOSELECTOR": return "\(program) selectors"
        case "NOJOB": return "\(program) jobs"
        case "BUSY": return "again later; '\(program) jobs --state waiting' shows what waits"
        case "SHUTTINGDOWN": return "again once workerd has been started anew"
        case "TIMEOUT":
            return jobThatGoesOn(message).map { "\(program) result \($0) --wait" }
        default: return nil
        }
    }

    /// The job of "job 5 has not ended within 10 ms"; nil if the job itself ran out of its time.
    static func jobThatGoesOn(_ message: String) -> UInt64? {
        let words = message.split(separator: " ")
        return words.count > 3 && words[2] == "has" ? UInt64(words[1]) : nil
    }
}
