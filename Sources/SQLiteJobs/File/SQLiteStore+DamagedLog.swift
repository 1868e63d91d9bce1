// The copy of a damaged log, which an opening makes before it writes over the damaged part.

internal import Jobs
internal import Kernel

extension SQLiteStore {
    /// Copies a damaged log before its unreadable part is overwritten.
    ///
    /// - Blocks: for the disk.
    func keepDamagedLog(_ log: StoreLog) {
        guard let damage = logDamage else { return }
        let logPath = path + "-wal"
        let lost =
            "\(logPath) is damaged at byte \(damage.place): at least \(damage.commitCount) "
            + "transactions behind that place can't be read. After a power cut they are attempts "
            + "and ends that were not synced yet, and such jobs run again; else jobs are lost"
        do throws(SystemError) {
            for number in 1...Self.keptLogCountMax {
                let aside = "\(logPath).damaged-\(number)"
                guard try File.kind(of: aside) == nil else { continue }
                try File.write(
                    try File.read(logPath, atMost: .max), to: aside, mode: File.ownerOnly)
                return log.error("\(lost). It was copied to \(aside)")
            }
            log.error("\(lost). There are \(Self.keptLogCountMax) copies of such logs already")
        } catch {
            log.error("\(lost). It could not be copied: \(error)")
        }
    }

    private static let keptLogCountMax = 9
}
