// In which order jobs are listed.

/// Which end of a listing comes first.
package enum JobOrder: Sendable {
    case oldestFirst
    case newestFirst
}
