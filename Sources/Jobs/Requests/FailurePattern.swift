// Reasons of failures that differ in numbers only, as one.

/// The likeness of reasons: the beginning of the first line, with `#` for each run of digits.
///
/// `port 7711 is closed` and `port 80 is closed` have the same pattern, `port # is closed`. The
/// pattern of a pattern is itself.
package struct FailurePattern: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// The longest beginning, in Unicode scalars: a store tells more than that of each reason.
    private static let scalarCountMax = JobListing.reasonByteCountMax / 4 - 1

    package init(_ reason: String) {
        var pattern = String.UnicodeScalarView()
        for scalar in reason.unicodeScalars.prefix(Self.scalarCountMax) {
            if scalar == "\n" || scalar == "\r" { break }
            let isDigit = ("0"..."9").contains(scalar)
            if isDigit, pattern.last == "#" { continue }
            pattern.append(isDigit ? "#" : scalar)
        }
        description = String(pattern)
    }
}
