// The core's errors in the protocol: the word that programs match, and a hint for people.

internal import Jobs

extension WireError {
    /// The reply to a command that failed.
    init(_ error: any Error) {
        switch error {
        case let error as WireError: self = error
        case let error as JobError: self.init(error)
        case let error as BackupError: self.init(error)
        default: self.init(.err, "\(error)")
        }
    }

    init(_ error: JobError) {
        self.init(Self.word(for: error), "\(error)\(Self.hint(for: error))")
    }

    init(_ error: BackupError) {
        let word: Word =
            switch error.kind {
            case .invalid: .err
            case .busy: .busy
            case .shuttingDown: .shuttingDown
            }
        self.init(word, error.message)
    }

    private static func word(for error: JobError) -> Word {
        switch error {
        case .unknownThread, .stoppedThread, .foreignThread, .leftForRestart: .noThread
        case .unknownSelector: .noSelector
        case .unknownJob: .noJob
        case .resultIsGone: .gone
        case .nameTaken: .conflict
        case .full, .refused, .storeFailed, .tooManySchedules, .hasMoved: .busy
        case .shuttingDown, .abandoned, .interrupted: .shuttingDown
        case .failed: .failed
        case .timedOut, .waitedInVain: .timeout
        case .cancelled: .cancelled
        case .expired: .expired
        case .hasNotFailed, .hasNoPayload, .payloadIsGone: .err
        case .configuredSchedule, .invalidSchedule: .err
        }
    }

    /// The command that helps on.
    private static func hint(for error: JobError) -> String {
        switch error {
        case .unknownThread: "; THREADS lists them"
        case .unknownSelector: "; SELECTORS lists them"
        case .waitedInVain(let id, _, _): "; RESULT \(id) WAIT goes on waiting"
        default: ""
        }
    }
}
