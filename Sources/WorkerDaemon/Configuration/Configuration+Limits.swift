// How much the daemon takes from its clients and keeps for them, as configured.

extension Configuration {
    /// The limits of what clients may send, and of what is kept for them.
    package struct Limits: Sendable, Equatable {
        /// The largest payload of a job.
        package var payloadBytes = 8 << 20
        /// How many clients may be connected.
        package var connections = 1000
        /// How much may wait to be read by one client, before it is disconnected.
        package var outputBacklogBytes = 64 << 20
        /// How many replies of one connection may be outstanding.
        package var pipeline = 10_000
        /// How many jobs may wait, of all threads together.
        package var waitingJobs = 1_000_000
        /// How much the payloads of all jobs that wait may take together.
        package var waitingBytes = 1 << 30
        /// How many finished jobs keep their result.
        package var retainedResults = 10_000
        /// How much all kept results may take together.
        package var retainedBytes = 64 << 20
        /// How long a result is kept.
        package var retainedFor = Duration.seconds(3600)
        /// How many failed jobs are kept, to be looked into and run again.
        package var retainedFailures = 10_000
        /// How long a failed job is kept.
        package var failuresFor = Duration.seconds(7 * 24 * 3600)
        /// For how long the name of a UNIQUE job is remembered.
        package var uniqueFor = Duration.seconds(24 * 3600)

        package init() {}
    }
}

extension Configuration.Limits: ConfigurationSection {
    mutating func read(from section: inout SectionReader) {
        section.read("payload", into: &payloadBytes, .size(1...(512 << 20)))
        section.read("connections", into: &connections, .whole(1...100_000))
        section.read("outputBacklog", into: &outputBacklogBytes, .size((1 << 10)...(16 << 30)))
        section.read("pipeline", into: &pipeline, .whole(1...1_000_000))
        section.read("waitingJobs", into: &waitingJobs, .whole(1...100_000_000))
        section.read("waitingBytes", into: &waitingBytes, .size(1...(1 << 40)))
        section.read("retainedResults", into: &retainedResults, .whole(0...10_000_000))
        section.read("retainedBytes", into: &retainedBytes, .size(0...(1 << 40)))
        section.read("retainedFor", into: &retainedFor, .duration(.zero ... .seconds(8760 * 3600)))
        section.read("retainedFailures", into: &retainedFailures, .whole(0...10_000_000))
        section.read("failuresFor", into: &failuresFor, .duration(.zero ... .seconds(8760 * 3600)))
        section.read("uniqueFor", into: &uniqueFor, .duration(.zero ... .seconds(8760 * 3600)))
    }
}
