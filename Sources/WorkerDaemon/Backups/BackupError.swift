// Why a backup was not made.

/// What a client is told when there is no backup.
struct BackupError: Error, Equatable {
    enum Kind {
        /// The request is wrong, or its place.
        case invalid
        /// The same request may succeed later.
        case busy
        case shuttingDown
    }

    let kind: Kind
    let message: String

    init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}
