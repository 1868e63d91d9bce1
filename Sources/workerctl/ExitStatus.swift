// The statuses that the program exits with, each with its meaning. Help, the manual page and
// Documents/Clients.md tell the same.

extension Failure {
    /// A status that the program exits with; the numbers never change.
    ///
    /// - Source: sysexits(3); 124 is what timeout(1) uses, 130 and 143 what a shell
    ///   reports after Ctrl-C and SIGTERM.
    enum Status: Int32, CaseIterable {
        case good = 0
        case failed = 1
        case cancelled = 3
        case expired = 4
        case usage = 64
        case refused = 65
        case noInput = 66
        case unavailable = 69
        case outputFault = 74
        case tryLater = 75
        case notAllowed = 77
        case timeout = 124
        case interrupted = 130
        case terminated = 143

        /// The meaning of the status, as the end of a sentence.
        var meaning: String {
            switch self {
            case .good: "done"
            case .failed: "the job failed or ran out of its time, or a check of doctor failed"
            case .cancelled: "the job was cancelled"
            case .expired: "the job expired before it began"
            case .usage: "the command line is wrong"
            case .refused: "the daemon refuses: NOTHREAD, NOSELECTOR, NOJOB, CONFLICT, ERR, …"
            case .noInput: "a file can't be read"
            case .unavailable: "the daemon can't be reached, or the connection ended"
            case .outputFault: "the output can't be written"
            case .tryLater: "try again later: BUSY, SHUTTINGDOWN, or the job has not ended"
            case .notAllowed: "the daemon does not let this user: NOAUTH, WRONGPASS, NOPERM"
            case .timeout: "the time of --wait or --timeout is up; the job goes on"
            case .interrupted: "ended by Ctrl-C"
            case .terminated: "ended by SIGTERM; top also if its terminal is gone"
            }
        }
    }
}

extension Failure.Status {
    /// The status for an error of the daemon.
    init(word: String, message: String) {
        switch word {
        case "FAILED": self = .failed
        case "CANCELLED": self = .cancelled
        case "EXPIRED": self = .expired
        case "BUSY", "SHUTTINGDOWN": self = .tryLater
        case "NOAUTH", "WRONGPASS", "NOPERM": self = .notAllowed
        case "TIMEOUT": self = Failure.jobThatGoesOn(message) == nil ? .failed : .timeout
        default: self = .refused
        }
    }
}
