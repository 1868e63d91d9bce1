// How a child ended.

internal import CLinux
internal import Glibc

/// How a child ended.
public enum ChildStatus: Equatable, Sendable, CustomStringConvertible {
    /// It ended by itself with this code; 0 means success.
    case exited(Int)
    /// A signal ended it.
    case signalled(Signal, coreDumped: Bool)
    /// Other code collected it, or SIGCHLD is ignored: the status is lost.
    case unknown

    /// Whether it ended by itself and says that all went well.
    public var isSuccess: Bool { self == .exited(0) }

    /// `exit status 3`, `killed by SIGSEGV`.
    public var description: String {
        switch self {
        case .exited(let code): return "exit status \(code)"
        case .signalled(let signal, let coreDumped):
            return "killed by \(signal.name)\(coreDumped ? " (core dumped)" : "")"
        case .unknown: return "exit status unknown"
        }
    }

    /// Reads what waitid(2) filled in for a child that ended.
    init(_ result: clinux_wait_result) {
        switch result.code {
        case CInt(CLD_KILLED): self = .signalled(Signal(result.status), coreDumped: false)
        case CInt(CLD_DUMPED): self = .signalled(Signal(result.status), coreDumped: true)
        default: self = .exited(Int(result.status))
        }
    }
}
