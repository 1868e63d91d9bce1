// The configured limits of what the daemon takes from its clients and keeps for them.

extension Configuration {
    /// The limits of clients' requests, and of the jobs and results kept for them.
    package struct Limits: Sendable, Equatable {
        /// The largest payload of a job, in bytes.
        package var payloadBytes = 8 << 20
        /// The number of connected clients.
        package var connections = 1000
        /// The bytes that one client may leave unread, before it is disconnected.
        package var outputBacklogBytes = 64 << 20
        /// The number of outstanding replies of one connection.
        package var pipeline = 10_000
        /// The number of waiting jobs, of all threads together.
        package var waitingJobs = 1_000_000
        /// The bytes of the payloads of all waiting jobs together.
        package var waitingBytes = 1 << 30
        /// The number of finished jobs that keep their result.
        package var retainedResults = 10_000
        /// The bytes of all kept results together.
        package var retainedBytes = 64 << 20
        /// The retention time of a result.
        package var retainedFor = Duration.seconds(3600)
        /// The bytes of all kept output of programs together.
        package var retainedOutputBytes = 16 << 20
        /// The number of failed jobs that are kept, to be inspected and run again.
        package var retainedFailures = 10_000
        /// The retention time of a failed job.
        package var failuresFor = Duration.seconds(7 * 24 * 3600)
        /// The time for which the name of a UNIQUE job is remembered.
        package var uniqueFor = Duration.seconds(24 * 3600)
        /// The number of events that are kept for their readers.
        package var events = 10_000
        /// The memory of all kept events together.
        package var eventBytes = 16 << 20
        /// The number of streams of one user or address.
        package var streams = 64

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
        section.read("retainedOutput", into: &retainedOutputBytes, .size(0...(1 << 40)))
        section.read("retainedFailures", into: &retainedFailures, .whole(0...10_000_000))
        section.read("failuresFor", into: &failuresFor, .duration(.zero ... .seconds(8760 * 3600)))
        section.read("events", into: &events, .whole(0...10_000_000))
        section.read("eventBytes", into: &eventBytes, .size((1 << 10)...(1 << 40)))
        section.read("streams", into: &streams, .whole(1...100_000))
        section.read("uniqueFor", into: &uniqueFor, .duration(.zero ... .seconds(8760 * 3600)))
    }
}
