// Signals as values, and what a process does about them. It knows nothing of what a signal is
// used for.

internal import CLinux
internal import Glibc

/// A signal, by its number on this machine.
public struct Signal: Hashable, Sendable, CustomStringConvertible {
    let rawNumber: CInt

    /// The terminal is gone, or: read the configuration anew.
    public static let hangUp = Signal(SIGHUP)
    /// Ctrl-C on the terminal.
    public static let interrupt = Signal(SIGINT)
    /// Ctrl-\ on the terminal.
    public static let quit = Signal(SIGQUIT)
    /// Ends a process at once; it can't be received.
    public static let kill = Signal(SIGKILL)
    /// A wrong access to memory.
    public static let segmentationFault = Signal(SIGSEGV)
    /// Free for programs.
    public static let user1 = Signal(SIGUSR1)
    /// Free for programs.
    public static let user2 = Signal(SIGUSR2)
    /// A write to a pipe without a reader.
    public static let brokenPipe = Signal(SIGPIPE)
    /// A timer of alarm(2).
    public static let alarm = Signal(SIGALRM)
    /// A polite request to end.
    public static let terminate = Signal(SIGTERM)
    /// A child process has ended or stopped.
    public static let childEnded = Signal(SIGCHLD)
    /// Lets a stopped process go on.
    public static let `continue` = Signal(SIGCONT)
    /// Ctrl-Z on the terminal.
    package static let terminalStop = Signal(SIGTSTP)
    /// The terminal has another size.
    package static let windowChanged = Signal(SIGWINCH)
    /// Stops a process; it can't be received.
    public static let stop = Signal(SIGSTOP)

    /// The signal with a number; nil when there is none.
    public init?(number: Int) {
        guard let raw = CInt(exactly: number), raw >= 1, raw <= clinux_last_realtime_signal()
        else { return nil }
        rawNumber = raw
    }

    init(_ rawNumber: CInt) {
        self.rawNumber = rawNumber
    }

    /// Its number, from 1 on.
    public var number: Int { Int(rawNumber) }

    /// Its name: `SIGTERM`, `SIGRTMIN+2`; `signal 99` when it has none.
    public var name: String {
        if let name = Signal.names[rawNumber] { return name }
        let first = clinux_first_realtime_signal()
        if rawNumber == first { return "SIGRTMIN" }
        let isRealtime = rawNumber > first && rawNumber <= clinux_last_realtime_signal()
        return isRealtime ? "SIGRTMIN+\(rawNumber - first)" : "signal \(rawNumber)"
    }

    /// Its name.
    public var description: String { name }

    /// glibc's own table, sigabbrev_np, is hidden without _GNU_SOURCE.
    private static let names: [CInt: String] = [
        SIGHUP: "SIGHUP", SIGINT: "SIGINT", SIGQUIT: "SIGQUIT", SIGILL: "SIGILL",
        SIGTRAP: "SIGTRAP", SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE",
        SIGKILL: "SIGKILL", SIGUSR1: "SIGUSR1", SIGSEGV: "SIGSEGV", SIGUSR2: "SIGUSR2",
        SIGPIPE: "SIGPIPE", SIGALRM: "SIGALRM", SIGTERM: "SIGTERM", SIGSTKFLT: "SIGSTKFLT",
        SIGCHLD: "SIGCHLD", SIGCONT: "SIGCONT", SIGSTOP: "SIGSTOP", SIGTSTP: "SIGTSTP",
        SIGTTIN: "SIGTTIN", SIGTTOU: "SIGTTOU", SIGURG: "SIGURG", SIGXCPU: "SIGXCPU",
        SIGXFSZ: "SIGXFSZ", SIGVTALRM: "SIGVTALRM", SIGPROF: "SIGPROF",
        SIGWINCH: "SIGWINCH", SIGIO: "SIGIO", SIGPWR: "SIGPWR", SIGSYS: "SIGSYS",
    ]
}

extension Signal {
    /// Blocks signals in the calling thread and from the threads it starts from now on.
    ///
    /// For the whole process, call it on the main thread before another is started; a signal sent
    /// to the process stays pending only if *every* thread blocks it.
    ///
    /// - Thread: any; see above.
    /// - Blocks: never.
    /// - Source: pthread_sigmask(3).
    public static func block(_ signals: Set<Signal>) {
        changeMask(SIG_BLOCK, signals)
    }

    /// Lets signals through to the calling thread again; those that are pending arrive at once.
    ///
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: pthread_sigmask(3).
    public static func unblock(_ signals: Set<Signal>) {
        changeMask(SIG_UNBLOCK, signals)
    }

    /// Makes writing to a closed pipe an error (EPIPE) instead of the process's end.
    ///
    /// - Thread: any; it is for the whole process. Children get the default again.
    /// - Blocks: never.
    /// - Source: signal(2).
    package static func ignoreBrokenPipes() {
        _ = signal(SIGPIPE, SIG_IGN)
    }

    /// Makes writing beyond the largest file that the process may have (RLIMIT_FSIZE) an error
    /// (EFBIG) instead of the process's end.
    ///
    /// - Thread: any; it is for the whole process. Children get the default again.
    /// - Blocks: never.
    /// - Source: setrlimit(2).
    package static func ignoreFileSizeLimit() {
        _ = signal(SIGXFSZ, SIG_IGN)
    }

    /// Gives signals the effect back that they have in a fresh process.
    ///
    /// A program inherits what its parent ignores. For SIGCHLD this matters most: while it is
    /// ignored, children vanish without their exit status.
    ///
    /// - Thread: any; it is for the whole process.
    /// - Blocks: never.
    /// - Source: signal(2).
    package static func reset(_ signals: Set<Signal>) {
        for entry in signals { _ = signal(entry.rawNumber, SIG_DFL) }
    }

    /// Sends the signal to a process.
    ///
    /// - Parameter processID: at least 1; groups are signalled by `ChildProcess`.
    /// - Throws: ESRCH (no such process), EPERM (another user's).
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: kill(2).
    public func send(toProcess processID: Int) throws(SystemError) {
        // 0 and negative numbers would mean whole groups, and -1 everything there is.
        require(processID >= 1, "a process id is positive, is \(processID)")
        try retrying("kill \(name) \(processID)") { Glibc.kill(pid_t(processID), rawNumber) }
    }

    /// Sends the signal to every process of a group.
    ///
    /// For a process that ends in a hurry and has only numbers left; otherwise `ChildProcess`
    /// signals its own group and knows whether it still may.
    ///
    /// - Parameter group: at least 2: a group of children that are not reaped yet.
    /// - Throws: ESRCH (no such group), EPERM (all of it another user's).
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: kill(2).
    package func send(toGroup group: Int) throws(SystemError) {
        require(group >= 2, "a process group of children is at least 2, is \(group)")
        try retrying("kill \(name) group \(group)") { Glibc.kill(-pid_t(group), rawNumber) }
    }

    /// Whether one of these blocked signals has come and waits to be received.
    ///
    /// - Thread: any that blocks them.
    /// - Source: sigpending(2).
    package static func isPending(oneOf signals: Set<Signal>) -> Bool {
        var pending = sigset_t()
        guard unsafe sigpending(&pending) == 0 else { return false }
        return signals.contains { unsafe sigismember(&pending, $0.rawNumber) == 1 }
    }

    /// A set as the kernel wants it.
    static func rawSet(_ signals: Set<Signal>) -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in signals { unsafe sigaddset(&set, signal.rawNumber) }
        return set
    }

    private static func changeMask(_ how: CInt, _ signals: Set<Signal>) {
        var set = rawSet(signals)
        let result = unsafe pthread_sigmask(how, &set, nil)
        require(result == 0, "pthread_sigmask fails with \(result)")
    }
}
