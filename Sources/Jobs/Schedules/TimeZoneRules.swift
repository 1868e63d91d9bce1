// The offsets of a zone's clocks from UTC, each with its period. Pure: the caller reads the zone's
// file.

/// The offsets of a time zone, for all times.
package struct TimeZoneRules: Hashable, Sendable {
    /// No clock is further from UTC, in seconds.
    ///
    /// - Source: RFC 9636, 3.2: offsets are more than -25 and less than 26 hours.
    static let offsetMax: Int64 = 26 * 3_600

    /// A period between two changes of the clocks, in Unix seconds; `end` is the first moment
    /// after.
    package struct Span: Hashable, Sendable {
        package let start: Int64
        package let end: Int64
        /// Seconds that the clock is ahead of UTC.
        package let offset: Int64
    }

    /// When clocks were changed, and to what.
    struct Change: Hashable, Sendable {
        let moment: Int64
        let offset: Int64
    }

    /// UTC itself.
    package static let utc = TimeZoneRules(firstOffset: 0, changes: [], rule: nil)

    private let firstOffset: Int64
    private let changes: [Change]
    /// The rule after the last change; nil if its offset never changes again.
    private let rule: PosixTimeZone?

    /// Changes are in the order of their moments.
    init(firstOffset: Int64, changes: [Change], rule: PosixTimeZone?) {
        self.firstOffset = firstOffset
        self.changes = changes
        self.rule = rule
    }

    /// The time without a change that a moment lies in.
    ///
    /// The offset before and behind it may be the same.
    ///
    /// - Complexity: O(log changes).
    package func span(at moment: Int64) -> Span {
        var low = 0
        var high = changes.count
        while low < high {
            let middle = (low + high) / 2
            if changes[middle].moment <= moment { low = middle + 1 } else { high = middle }
        }
        let start = low == 0 ? Int64.min : changes[low - 1].moment
        if low == changes.count, let rule {
            let span = rule.span(at: moment)
            return Span(start: max(start, span.start), end: span.end, offset: span.offset)
        }
        return Span(
            start: start, end: low == changes.count ? .max : changes[low].moment,
            offset: low == 0 ? firstOffset : changes[low - 1].offset)
    }
}
