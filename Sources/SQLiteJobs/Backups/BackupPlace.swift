// The directory of backups, and the names that they may have. A client gives a name, never a path:
// it may come from another machine, and must not choose where a file is written.

internal import Jobs
internal import Kernel
internal import Wording

/// The directory of backups.
struct BackupPlace: Sendable {
    let directory: String
    /// The path of the store.
    private let store: String
    /// Whether the directory is made when it is first needed.
    private let isMadeHere: Bool

    /// Ends of names by which SQLite, or workerd, recognises files that belong to another one.
    private static let reservedEnds = ["-wal", "-shm", "-journal", "-attempts", partialEnd]
    private static let partialEnd = ".partial"

    /// - Parameters:
    ///   - configured: the directory of the configuration; nil for `backups` beside the store.
    ///   - store: the path of the store.
    init(_ configured: String?, besides store: String) {
        directory =
            configured ?? Directory.path(of: "backups", in: Directory.parent(of: store))
        isMadeHere = configured == nil
        self.store = store
    }

    /// The path of the backup of a name.
    func path(of name: String) throws(BackupError) -> String {
        let isName = NameRule.accepts(name) && !name.hasPrefix(".") && !name.hasPrefix("-")
        guard isName else {
            throw BackupError(
                .invalid,
                "the name of a backup is 1…64 of the characters A-Z a-z 0-9 _ . - and no path, "
                    + "the first a letter, a digit or _; is \(quoted(name)). "
                    + "Backups lie in \(directory)"
            )
        }
        if let end = Self.reservedEnds.first(where: name.hasSuffix) {
            throw BackupError(
                .invalid, "a backup's name does not end with \(end), which marks parts of others")
        }
        let path = Directory.path(of: name, in: directory)
        guard path != store else {
            throw BackupError(.invalid, "\(path) is where the jobs are kept: give another name")
        }
        return path
    }

    /// The path of a backup while it is being made.
    static func partial(of path: String) -> String { path + partialEnd }

    /// Makes the directory, if it is the one beside the store.
    ///
    /// - Blocks: for the disk.
    func prepare() throws(SystemError) {
        guard isMadeHere, try File.kind(of: directory) == nil else { return }
        try Directory.create(directory, mode: 0o700)
        try Directory.sync(Directory.parent(of: directory))
    }

    /// Removes partial backups of daemons that were killed.
    ///
    /// A partial backup in progress is locked and stays. So do files that are no part of a store,
    /// or belong to another user.
    ///
    /// - Blocks: for the disk.
    func removeLeftovers() throws(SystemError) {
        for name in try Directory.names(in: directory) where name.hasSuffix(Self.partialEnd) {
            guard (try? path(of: String(name.dropLast(Self.partialEnd.count)))) != nil else {
                continue
            }
            let leftover = Directory.path(of: name, in: directory)
            let isGone = try? File.removeLeftover(
                leftover, byteCount: Schema.headerByteCount, isOurs: Schema.isOurs)
            // SQLite's log of the partial backup.
            if isGone == true { try? File.remove(leftover + "-wal") }
        }
    }

    /// Makes the file of a partial backup.
    ///
    /// - Throws: `BackupError`, `SystemError`.
    /// - Blocks: for the disk.
    func makePartial(_ partial: String) throws -> Descriptor {
        do throws(SystemError) {
            return try File.makeNew(partial, mode: File.ownerOnly)
        } catch {
            guard error.isAlreadyThere else { throw error }
            // A daemon that was killed before the file's first byte has left an empty one.
            let isGone = try? File.removeLeftover(partial, byteCount: 1, isOurs: \.isEmpty)
            if isGone == true { return try File.makeNew(partial, mode: File.ownerOnly) }
            throw BackupError(
                .invalid,
                "\(partial) is there and not workerd's, or in use: give another name, or remove it")
        }
    }

    /// Checks that a backup can have its name.
    ///
    /// - Throws: `BackupError`, `SystemError`.
    /// - Blocks: for the disk.
    func check(_ path: String, replaces: Bool) throws {
        for end in ["-wal", "-journal"] where try File.kind(of: path + end) != nil {
            // SQLite would take the log's contents for a part of the new backup.
            throw BackupError(
                .invalid,
                "\(path)\(end) is there: somebody has the backup of this name open, or did not "
                    + "close it; give another name, or remove both")
        }
        switch try File.kind(of: path) {
        case nil: return
        case .regular where replaces:
            // The directory may contain other files, which no client may destroy.
            let header = try File.beginning(of: path, byteCount: Schema.headerByteCount)
            guard Schema.isOurs(header) else {
                throw BackupError(.invalid, "\(path) is no backup of workerd: give another name")
            }
        case .regular:
            throw BackupError(.invalid, "\(path) is there: give another name, or add REPLACE")
        case .directory, .socket, .other:
            throw BackupError(.invalid, "\(path) is no file: give another name")
        }
    }
}
