// Further conditions of a listing, beside thread and state. One of them is the likeness of reasons
// of failures.

/// Conditions on listed jobs; all that are given must be met.
package struct JobFilter: Sendable, Equatable {
    /// Only jobs of this selector.
    package var selector: String?
    /// Only jobs with this key.
    package var key: [UInt8]?
    /// Only jobs that were accepted at this moment or before, in Unix milliseconds.
    package var acceptedUntil: Int64?
    /// Only jobs that were accepted after this moment.
    package var acceptedAfter: Int64?
    /// Only jobs that have failed for a reason like this one.
    package var failure: FailurePattern?

    /// Only jobs of these threads and selectors.
    package var scope = JobScope.all

    package init() {}

    /// Whether every job passes.
    package var isEmpty: Bool { self == JobFilter() }

    package func passes(_ job: Job) -> Bool {
        if let selector, job.selector != selector { return false }
        if let key, job.key != key { return false }
        if let acceptedUntil, job.acceptedAt > acceptedUntil { return false }
        if let acceptedAfter, job.acceptedAt <= acceptedAfter { return false }
        if let failure, job.outcome?.failureReason.map(FailurePattern.init) != failure {
            return false
        }
        if !scope.isAll, !scope.has(job) { return false }
        return true
    }
}

/// The likeness of reasons: the beginning of the first line, with `#` for each run of digits.
///
/// `port 7711 is closed` and `port 80 is closed` have the same pattern, `port # is closed`. The
/// pattern of a pattern is itself.
package struct FailurePattern: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// The longest beginning, in Unicode scalars: a store tells more than that of each reason.
    private static let scalarCountMax = JobListing.reasonByteCountMax / 4 - 1

    package init(_ reason: String) {
        // Byte by byte: a listing makes one of each failure.
        var pattern: [UInt8] = []
        pattern.reserveCapacity(min(reason.utf8.count, JobListing.reasonByteCountMax))
        var left = Self.scalarCountMax
        for byte in reason.utf8 {
            if byte & 0xC0 != 0x80 {
                // The first byte of a scalar.
                guard left > 0, byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") else {
                    break
                }
                left -= 1
            }
            let isDigit = byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
            if isDigit, pattern.last == UInt8(ascii: "#") { continue }
            pattern.append(isDigit ? UInt8(ascii: "#") : byte)
        }
        description = String(decoding: pattern, as: UTF8.self)
    }
}
