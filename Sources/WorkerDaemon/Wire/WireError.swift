// The error reply to a command: a word that programs match, and a sentence for people.

internal import RESP
internal import Wording

/// An error reply.
struct WireError: Error, Equatable {
    /// The first word of an error reply.
    enum Word: String, CaseIterable {
        /// The command itself is wrong.
        case err = "ERR"
        /// There is no such thread, or it has been stopped.
        case noThread = "NOTHREAD"
        /// No handler of that name.
        case noSelector = "NOSELECTOR"
        /// No job of that number, or it is no longer kept.
        case noJob = "NOJOB"
        /// The handler failed.
        case failed = "FAILED"
        /// The job ran out of its time, or the client out of its own.
        case timeout = "TIMEOUT"
        /// The job was cancelled.
        case cancelled = "CANCELLED"
        /// The job had not begun in time.
        case expired = "EXPIRED"
        /// The job of a unique name has ended, and its outcome is no longer kept.
        case gone = "GONE"
        /// A unique name belongs to a job with another thread, selector or payload.
        case conflict = "CONFLICT"
        /// As much waits as may; try again later.
        case busy = "BUSY"
        /// A worker's token counts no more: its delivery is over, or never was.
        case stale = "STALE"
        /// A worker's name belongs to another connection.
        case inUse = "INUSE"
        /// A TAKE waits no longer, since a client said so.
        case unblocked = "UNBLOCKED"
        /// A password is asked for first.
        case noAuth = "NOAUTH"
        /// The user lacks a right.
        case noPerm = "NOPERM"
        /// A wrong password.
        case wrongPass = "WRONGPASS"
        /// A protocol version that is not spoken here.
        case noProto = "NOPROTO"
        /// Nothing of a transaction was executed.
        case execAbort = "EXECABORT"
        /// The daemon is going down.
        case shuttingDown = "SHUTTINGDOWN"
    }

    let word: Word
    let message: String

    init(_ word: Word, _ message: String) {
        self.word = word
        self.message = message
    }

    /// The error as it is sent; line ends become blanks on their way.
    var reply: RESPValue {
        .error("\(word.rawValue) \(printable(message, except: ["\n", "\r", "\t"]))")
    }
}
