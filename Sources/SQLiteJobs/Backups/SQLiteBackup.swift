// One backup, from its first byte to its name, on a thread of its own. The journal's thread copies
// it part by part, each as short as one of its transactions, and does its own work in between. This
// thread syncs each part before it asks for the next. So the journal never syncs behind more than
// one part.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Synchronization

/// A backup to be made.
///
/// - Thread: any thread.
final class SQLiteBackup: StoreBackup {
    /// The number of pages that the journal copies before other commands have their turn.
    private static let pagesAtOnce = 64
    /// The disk space that a backup leaves free, for the store and other programs.
    private static let spareByteCount = 64 << 20

    let path: String
    private let place: BackupPlace
    private let replaces: Bool
    private let journal: SQLiteJournal
    private let givenUp = Atomic<Bool>(false)

    private var partial: String { BackupPlace.partial(of: path) }

    /// - Parameters:
    ///   - path: a path that the place has given.
    ///   - replaces: whether it replaces an existing file.
    init(of journal: SQLiteJournal, to path: String, in place: BackupPlace, replaces: Bool) {
        self.journal = journal
        self.path = path
        self.place = place
        self.replaces = replaces
    }

    /// Ends the backup after the current part and leaves nothing of it.
    func giveUp() { givenUp.store(true, ordering: .relaxed) }

    /// Makes the backup.
    ///
    /// - Returns: its size in bytes, once it is on the disk under its name.
    /// - Throws: the reason of the failure; nothing is left of the backup.
    /// - Thread: any but the journal's and `io`.
    /// - Blocks: for the disk, and for the journal's thread.
    func make() throws(BackupError) -> Int {
        do {
            try place.prepare()
            try place.removeLeftovers()
            try place.check(path, replaces: replaces)
            let byteCount = try writePartial()
            try Directory.sync(place.directory)
            return byteCount
        } catch let error as BackupError {
            throw error
        } catch let fault as StoreFault {
            throw BackupError(
                fault.kind == .full ? .busy : .invalid, "no backup was made: \(fault)")
        } catch let error as SystemError {
            throw BackupError(
                error.isLackOfRoom ? .busy : .invalid,
                "no backup was made: \(error): \(place.directory) must be a directory on a disk "
                    + "with room, writable for workerd's user")
        } catch {
            throw Self.abandoned
        }
    }

    private static let abandoned = BackupError(
        .shuttingDown, "the daemon is going down: no backup was made")

    /// Writes the backup under a partial name and renames it.
    private func writePartial() throws -> Int {
        let file = try place.makePartial(partial)
        do {
            // The lock keeps other daemons from removing it as a leftover.
            _ = file.lock()
            try write(file)
            let byteCount = try File.byteCount(of: partial) ?? 0
            // Another process may have made one meanwhile.
            try place.check(path, replaces: replaces)
            try File.rename(partial, to: path)
            return byteCount
        } catch {
            try? File.remove(partial)
            try? File.remove(partial + "-wal")
            throw error
        }
    }

    private func write(_ file: borrowing Descriptor) throws {
        let (copy, byteCount) = try journal.beginCopy(to: partial)
        defer { journal.endCopy(copy) }
        let room = try Directory.freeByteCount(of: place.directory)
        guard room >= byteCount + Self.spareByteCount else {
            throw BackupError(
                .busy,
                "no backup was made: it takes \(byteCount) bytes, and the disk of "
                    + "\(place.directory) has \(room) left, of which \(Self.spareByteCount) stay "
                    + "free: make some room there")
        }
        var isDone = false
        while !isDone {
            if givenUp.load(ordering: .relaxed) { throw Self.abandoned }
            isDone = try journal.copyPart(of: copy, pageCount: Self.pagesAtOnce)
            try file.sync()
        }
    }
}
