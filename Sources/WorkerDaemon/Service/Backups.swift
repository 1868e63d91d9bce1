// Backups on the `io` thread: one at a time, each made by a thread of its own, and their figures in
// INFO.

internal import Jobs
internal import Kernel
internal import RunLoops

/// The backups of the store.
///
/// Confined to the driver's thread.
final class Backups {
    /// A backup in progress.
    private struct Current {
        let name: String
        let run: any StoreBackup
        let startedAt: Int64
        let reply: ReplyToken
    }

    private let driver: SchedulerDriver
    /// Told the path of a backup that was asked for, or why there is none.
    var answer: (ReplyToken, Result<String, BackupError>) -> Void = { _, _ in }
    private let loop: ThreadRunLoop
    private let log: Log
    /// The directory of the configuration; nil for the store's own.
    var directory: String?
    private var current: Current?
    private var thread: SystemThread?
    private var madeCount = 0
    private var failedCount = 0
    /// The time and the size of the latest backup.
    private var last: (at: Int64, byteCount: Int) = (0, 0)
    /// Called when a backup has ended, made or failed.
    var whenEnded: (() -> Void)?

    /// - Parameter directory: the one of the configuration.
    init(driver: SchedulerDriver, directory: String?, loop: ThreadRunLoop, log: Log) {
        self.driver = driver
        self.loop = loop
        self.log = log
        self.directory = directory
    }

    /// Whether a backup is in progress.
    var isUnderWay: Bool { current != nil }

    /// The backup figures of INFO.
    var figures: [(String, String)] {
        [
            ("backup_in_progress", isUnderWay ? "1" : "0"),
            ("total_backups_made", "\(madeCount)"),
            ("total_backups_failed", "\(failedCount)"),
            ("last_backup_at", "\(last.at)"),
            ("last_backup_bytes", "\(last.byteCount)"),
        ]
    }

    /// Makes a backup; answers with its path once it is on the disk, or with the reason of its
    /// failure.
    ///
    /// - Parameters:
    ///   - name: its name in the directory of backups.
    ///   - replaces: whether it replaces a backup of this name.
    func make(_ name: String, replaces: Bool, _ reply: ReplyToken) {
        do throws(BackupError) {
            try begin(name, replaces: replaces, reply)
        } catch {
            answer(reply, .failure(error))
        }
    }

    private func begin(
        _ name: String, replaces: Bool, _ reply: ReplyToken
    ) throws(BackupError) {
        let store = driver.store
        if driver.isRefusing, store.isKeeping {
            throw BackupError(.shuttingDown, "the daemon is going down")
        }
        let run = try store.backup(name, in: directory, replaces: replaces)
        if let current {
            throw BackupError(
                .busy, "\(current.run.path) is being made: try again when it is there")
        }
        current = Current(
            name: name, run: run, startedAt: driver.wall.unixMilliseconds(), reply: reply)
        // Changes that are not in the store yet come there first.
        driver.confirm { [unowned self] fault in
            guard let fault else { return start(run) }
            ended(.failure(BackupError(.busy, "\(JobError.storeFailed(fault))")))
        }
    }

    private func start(_ run: any StoreBackup) {
        let (backups, loop) = (Confined(self, to: loop), loop)
        do throws(SystemError) {
            thread = try SystemThread(name: "backup") {
                let result = Result { () throws(BackupError) in try run.make() }
                loop.perform { backups.value.ended(result) }
            }
        } catch {
            ended(.failure(BackupError(.busy, "there is no thread for a backup: \(error)")))
        }
    }

    private func ended(_ result: Result<Int, BackupError>) {
        if let thread = thread.take() { thread.join() }
        guard let ended = current.take() else { return }
        let path = ended.run.path
        switch result {
        case .success(let byteCount):
            let now = driver.wall.unixMilliseconds()
            madeCount += 1
            last = (now, byteCount)
            log.notice(
                "backup \(path) is made: \(byteCount) bytes in \(now - ended.startedAt) ms")
        case .failure(let error):
            failedCount += 1
            log.error("backup \(ended.name): \(error.message)")
        }
        answer(ended.reply, result.map { _ in path })
        whenEnded?()
    }

    /// Asks the current backup to end soon and to leave nothing.
    func giveUp() { current?.run.giveUp() }

    /// Ends the current backup and waits for its thread; its client is not answered.
    ///
    /// - Blocks: until a part of it is on the disk.
    func close() {
        giveUp()
        if let thread = thread.take() { thread.join() }
        current = nil
        whenEnded = nil
    }
}
