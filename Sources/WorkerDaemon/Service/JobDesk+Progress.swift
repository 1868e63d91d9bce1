// What the desk tells of a job while it runs, beside what is kept of it: how far it is.

internal import Jobs
internal import RESP

extension JobDesk {
    /// How far a job is: null once it has ended, and before its handler has said something.
    func progressEntries(of id: JobID) -> [RESPValue.Entry] {
        let progress = live[id]?.context.progress
        return [
            entry("progress", progress?.fraction.map { .double($0) } ?? .null),
            entry("progress-text", progress?.shownText.map(text) ?? .null),
        ]
    }
}
