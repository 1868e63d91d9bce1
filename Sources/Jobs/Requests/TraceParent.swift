// The place of a request in a trace, as other systems hand it on.

/// A `traceparent` (https://www.w3.org/TR/trace-context/#traceparent-header).
package enum TraceParent {
    /// One that is well formed.
    package static let example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    /// Whether bytes are a version, a trace, its parent span and flags, as version 00 has them.
    ///
    /// A later version may be longer: what it adds is passed on.
    package static func isValid(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= example.utf8.count else { return false }
        let parts = bytes.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count >= 4, parts.prefix(4).map(\.count) == [2, 32, 16, 2],
            parts.prefix(4).allSatisfy({ $0.allSatisfy(isDigit) }),
            parts.dropFirst(4).allSatisfy({ $0.allSatisfy { (33...126).contains($0) } })
        else { return false }
        let version = parts[0]
        let isFirst = version.elementsEqual("00".utf8)
        return !version.elementsEqual("ff".utf8) && (!isFirst || parts.count == 4)
            && parts[1].contains { $0 != UInt8(ascii: "0") }
            && parts[2].contains { $0 != UInt8(ascii: "0") }
    }

    /// Hexadecimal digits are small letters.
    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}
