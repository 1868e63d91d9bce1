// Random options of a job, for the simulations of one scheduler and of several.

import Jobs
import Support

extension JobRequest {
    /// Gives the job random options and a random priority.
    ///
    /// - Parameters:
    ///   - blocks: how often, in percent, later jobs wait for its retries.
    ///   - expires: how often, in percent, it expires.
    ///   - within: when it does so at the latest, in milliseconds.
    mutating func vary(
        _ random: inout SeededRandom, blocks: Int, expires: Int, within milliseconds: Int
    ) {
        var options = JobOptions()
        if random.chance(40) { options.key = [UInt8(random.below(3))] }
        if random.chance(50) { options.retryCountMax = 1 + random.below(2) }
        if random.chance(blocks) { options.retryBlocks = true }
        if random.chance(expires) {
            options.expireMilliseconds = Int64(1 + random.below(milliseconds))
        }
        self.options = SharedJobOptions(options)
        priority = Priority.allCases[random.below(3)]
    }
}
