// Why a file of jobs can't be used, in words that name the file and say what to do; and why it was
// not backed up.

/// A fault of the file of jobs.
package struct StoreFault: Error, Hashable, CustomStringConvertible {
    /// The kind of the fault, for programs.
    package enum Kind: Hashable, Sendable {
        /// Another process has it open.
        case inUse
        /// It was written by a later version of this program.
        case newer
        /// It was written by a version of this program whose files are not brought up to date.
        case older
        /// It is no database, or one of another program.
        case foreign
        /// It is a damaged database.
        case corrupt
        /// Its log is there, but the file is missing or does not match the log.
        case incomplete
        /// Another kind of file is in the place of one that belongs beside it.
        case inTheWay
        /// It can't be opened, made or written by this user.
        case notWritable
        /// It is no longer at its path.
        case moved
        /// Another daemon has the thread that was to be taken over.
        case foreignThread
        /// Another daemon is giving or using the name of a new job.
        case nameInUse
        /// The schedule of a new job has another thread by now, or is gone.
        case scheduleGone
        /// The disk or its quota is full.
        case full
        /// Anything else that the system reports: an input or output error.
        case failed
        /// The database server can't be reached, or another daemon holds its seat.
        case away
        /// The connection to the database server was lost and is there again; nothing was changed.
        case interrupted
        /// The database server has undone the changes for those of another session, such as in a
        /// deadlock; the connection is there.
        case undone
        /// The database server has not said whether it has made the changes.
        case undecided
        /// Another daemon has taken the seat: this one may not go on.
        case lost
        /// The database server is a promoted standby, which may lack jobs that this daemon has.
        case promoted
        /// The database server, its configuration or this user's rights do not serve.
        case unfit

        /// Whether nothing was changed and the same changes may succeed at once.
        package var allowsAnotherTry: Bool { self == .interrupted || self == .undone }
    }

    /// The kind of the fault, for programs.
    package let kind: Kind

    /// The path of the database, or where its server is.
    package let path: String

    /// The message of SQLite or PostgreSQL, or the finding of a check.
    package let detail: String

    /// The fault of a command for a schedule that is gone or has another thread.
    package static func scheduleGone(_ name: String) -> StoreFault {
        StoreFault(
            .scheduleGone, path: "schedule \(name)",
            detail: "it has another thread by now, or is gone")
    }

    /// A fault of the file at `path`.
    package init(_ kind: Kind, path: String, detail: String) {
        self.kind = kind
        self.path = path
        self.detail = detail
    }

    /// One line that names the file, what is wrong with it, and what to do.
    package var description: String { "\(path): \(sentence)" }

    private var sentence: String {
        switch kind {
        case .inUse: "another process has it open: end that one, or name another file"
        case .newer, .older: "\(detail): use that version, or name another file"
        case .foreign: "\(detail): it is left as it is; name another file"
        case .corrupt:
            "it is damaged (\(detail)): move it away with its log \(path)-wal, or rescue what is "
                + "in copies of both with sqlite3 FILE .recover"
        case .incomplete:
            "\(detail): nothing is changed; put the file back that belongs beside this log, or "
                + "move the log away, and the jobs in it are lost"
        case .foreignThread, .nameInUse, .scheduleGone: detail
        case .inTheWay: "\(detail): it is left as it is; move it away"
        case .notWritable:
            "it can't be opened or written (\(detail)): its directory must be there, and both "
                + "must be writable for this user"
        case .moved:
            "\(detail), and what is written there would be lost: move it back, or end this daemon "
                + "and start another"
        case .full: "there is no room (\(detail)): make some on its disk"
        case .away, .undecided: "\(detail): it is tried again until it can be reached"
        case .interrupted: "\(detail): the connection is there again"
        case .undone: "\(detail): another session of the database was in the way"
        case .lost: "\(detail): this daemon ends, and its jobs go on there"
        case .promoted: "\(detail): this daemon ends, and its next start loads all jobs anew"
        case .unfit: detail
        case .failed: "it can't be read or written (\(detail)): look at its disk"
        }
    }
}

/// The refusal or failure of a backup.
package struct BackupError: Error, Equatable {
    package enum Kind: Sendable {
        /// The request is wrong, or its place.
        case invalid
        /// The same request may succeed later.
        case busy
        case shuttingDown
    }

    package let kind: Kind
    package let message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}
