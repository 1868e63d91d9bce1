// The name of a job: a number that only grows, written in decimal on the wire and in logs.

/// Identifies a job for ever; a job accepted later has a larger one.
@usableFromInline
package struct JobID: Comparable, Hashable, Sendable, CustomStringConvertible {
    /// The number, from 1 on.
    @usableFromInline package let number: UInt64

    /// Larger than the number of every job.
    package static let max = JobID(.max)

    /// Names the job with `number`.
    @inlinable
    package init(_ number: UInt64) { self.number = number }

    /// Reads what `description` writes: decimal digits, no sign, no space, no leading zero.
    ///
    /// The one spelling per job is what lets clients compare ids as text.
    ///
    /// - Returns: `nil` for anything else, zero and what does not fit into 64 bits included.
    package init?(bytes: some Sequence<UInt8>) {
        var number: UInt64 = 0
        for byte in bytes {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            guard number > 0 || byte != UInt8(ascii: "0") else { return nil }
            let (tens, tensOverflow) = number.multipliedReportingOverflow(by: 10)
            let digit = UInt64(byte - UInt8(ascii: "0"))
            let (sum, sumOverflow) = tens.addingReportingOverflow(digit)
            guard !tensOverflow, !sumOverflow else { return nil }
            number = sum
        }
        guard number > 0 else { return nil }
        self.number = number
    }

    /// The number in decimal.
    @usableFromInline package var description: String { String(number) }

    /// The hash of dictionaries and sets, which ask for it instead of `hash(into:)`.
    ///
    /// A keyed hash protects a table against keys that were chosen to collide, and costs more than
    /// the rest of a look-up. Numbers are given out one after another, so a client can choose none.
    ///
    /// - Parameter seed: differs from table to table: one that is filled in the order of another
    ///   must not probe long runs.
    /// - Source: Knuth, The Art of Computer Programming, 6.4 (the golden ratio of 64 bits).
    @inlinable
    package func _rawHashValue(seed: Int) -> Int {
        let mixed = (number ^ UInt64(truncatingIfNeeded: seed)) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed >> 32)
    }

    /// Whether `lhs` was accepted before `rhs`.
    @inlinable
    package static func < (lhs: JobID, rhs: JobID) -> Bool { lhs.number < rhs.number }
}
