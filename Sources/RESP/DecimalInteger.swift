// Integers as decimal digits, read strictly and written without a String in between. All reading
// and writing of integers is here; it knows nothing of headers and markers.

/// Decimal text of 64-bit integers.
enum DecimalInteger {
    /// Reads an integer that makes up the whole of `bytes`.
    ///
    /// The rules are those of Redis's `string2ll`: an optional minus, then digits without a leading
    /// zero. A plus, a space, `-0`, `007`, an empty text, or a value out of range are not integers,
    /// so that every value has one spelling.
    ///
    /// - Returns: the value, or nil.
    static func parse(_ bytes: Span<UInt8>) -> Int? {
        guard bytes.count > 0 else { return nil }
        let isNegative = bytes[0] == ASCII.minus
        var index = isNegative ? 1 : 0
        guard index < bytes.count, ASCII.isDigit(bytes[index]) else { return nil }
        if bytes[index] == ASCII.zero { return bytes.count == 1 ? 0 : nil }
        // Eighteen digits can't overflow; only longer numbers pay for checks.
        let uncheckedEnd = min(bytes.count, index + 18)
        var magnitude: UInt64 = 0
        while index < uncheckedEnd {
            guard ASCII.isDigit(bytes[index]) else { return nil }
            magnitude = magnitude &* 10 &+ UInt64(bytes[index] &- ASCII.zero)
            index += 1
        }
        while index < bytes.count {
            guard ASCII.isDigit(bytes[index]) else { return nil }
            let (shifted, shiftOverflow) = magnitude.multipliedReportingOverflow(by: 10)
            let digit = UInt64(bytes[index] &- ASCII.zero)
            let (sum, sumOverflow) = shifted.addingReportingOverflow(digit)
            guard !shiftOverflow, !sumOverflow else { return nil }
            magnitude = sum
            index += 1
        }
        guard isNegative else { return Int(exactly: magnitude) }
        return magnitude <= Int.min.magnitude ? Int(truncatingIfNeeded: 0 &- magnitude) : nil
    }

    /// Appends an integer.
    static func append(_ value: Int, to output: inout [UInt8]) {
        append(prefix: nil, value, suffix: false, to: &output)
    }

    /// Appends a marker, an integer and CRLF: a header, or an integer reply.
    static func appendLine(_ marker: UInt8, _ value: Int, to output: inout [UInt8]) {
        append(prefix: marker, value, suffix: true, to: &output)
    }

    @inline(__always)
    private static func append(
        prefix: UInt8?, _ value: Int, suffix: Bool, to output: inout [UInt8]
    ) {
        // One growth check for all of it: a marker, a sign, the digits, CR and LF.
        output.append(addingCapacity: Digits.countMax + 4) { span in
            if let prefix { span.append(prefix) }
            if value < 0 { span.append(ASCII.minus) }
            // Nearly every length has one digit or two.
            if value.magnitude < 100 {
                let small = UInt8(truncatingIfNeeded: value.magnitude)
                if small >= 10 { span.append(ASCII.zero &+ small / 10) }
                span.append(ASCII.zero &+ small % 10)
            } else {
                Digits(value.magnitude).append(to: &span)
            }
            guard suffix else { return }
            span.append(ASCII.carriageReturn)
            span.append(ASCII.lineFeed)
        }
    }
}

/// The decimal digits of a number, on the stack.
private struct Digits {
    static let countMax = 20

    private var bytes = InlineArray<20, UInt8>(repeating: 0)
    private var first = countMax

    init(_ magnitude: UInt) {
        var rest = magnitude
        // Two digits for each division of the whole number.
        while rest >= 10 {
            let pair = UInt8(truncatingIfNeeded: rest % 100)
            rest /= 100
            first &-= 2
            bytes[first] = ASCII.zero &+ pair / 10
            bytes[first &+ 1] = ASCII.zero &+ pair % 10
        }
        if rest > 0 || first == Self.countMax {
            first &-= 1
            bytes[first] = ASCII.zero &+ UInt8(truncatingIfNeeded: rest)
        }
    }

    func append(to span: inout OutputSpan<UInt8>) {
        for index in first..<Self.countMax { span.append(bytes[index]) }
    }
}
