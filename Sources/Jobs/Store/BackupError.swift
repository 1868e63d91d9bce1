// Why a backup was not made.

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
