// How patient a client is, and how much it takes.

internal import Kernel

/// The limits of a client.
public struct ClientOptions: Sendable, Equatable {
    /// How long connecting may take, and how long the greeting after it.
    public var connectTimeout: Duration
    /// How long a reply may take, beyond the time that the command itself asks the daemon to wait.
    ///
    /// Nil for as long as it takes. It is the blocking client's; a task is cancelled instead.
    public var replyTimeout: Duration?
    /// The most bytes that one string of a reply may have, such as a job's result; 1 TiB at most.
    ///
    /// All strings of one reply together may have twice as many, and 64 MiB in any case: a small
    /// limit for results is none for lists. A larger one ends the connection: `.closed`.
    public var replyByteCountMax: Int
    /// How many commands of an asynchronous client may be without a reply.
    public var outstandingCountMax: Int
    /// How many bytes of an asynchronous client's commands may wait to be sent.
    public var unsentByteCountMax: Int

    /// After how long without a command the blocking client looks whether it is still connected.
    ///
    /// A look costs a system call; without it, a command could go to a daemon that is gone.
    package var idleBeforeLook = Duration.milliseconds(50)

    /// How long a worker waits after an error before it tries again.
    package var reconnectPause = Duration.seconds(1)

    /// Limits that suit a program on the daemon's own machine.
    public init(
        connectTimeout: Duration = .seconds(5), replyTimeout: Duration? = .seconds(30),
        replyByteCountMax: Int = 64 << 20, outstandingCountMax: Int = 8_192,
        unsentByteCountMax: Int = 64 << 20
    ) {
        require(connectTimeout > .zero, "connecting takes time: \(connectTimeout)")
        require(replyByteCountMax > 0, "replyByteCountMax must be positive")
        require(outstandingCountMax > 0, "outstandingCountMax must be positive")
        require(unsentByteCountMax > 0, "unsentByteCountMax must be positive")
        self.connectTimeout = connectTimeout
        self.replyTimeout = replyTimeout
        self.replyByteCountMax = replyByteCountMax
        self.outstandingCountMax = outstandingCountMax
        self.unsentByteCountMax = unsentByteCountMax
    }
}
