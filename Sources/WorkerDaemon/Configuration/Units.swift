// Durations and sizes in words for people: "250ms", "30s", "64KB"; read, and shown in faults.

/// The units a duration may have, the largest first, in milliseconds.
private let durationUnits: [(name: String, milliseconds: Int)] = [
    ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1),
]

/// The units a size may have, the largest first, in bytes: binary multiples, 1KB is 1024 bytes.
private let sizeUnits: [(name: String, byteCount: Int)] = [
    ("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10),
]

extension Duration {
    /// Reads a whole number and its unit without a blank between: `250ms`, `30s`, `5m`, `1h`.
    ///
    /// - Returns: nil if the text is anything else, or the number is too large.
    package init?(configured text: String) {
        guard let (count, unit) = splitUnit(text),
            let factor = durationUnits.first(where: { $0.name == unit })?.milliseconds
        else { return nil }
        let (milliseconds, overflows) = count.multipliedReportingOverflow(by: factor)
        guard !overflows else { return nil }
        self = .milliseconds(milliseconds)
    }

    /// The duration in its largest unit without a remainder: `90s`, `24h`; below 1 ms is cut off.
    var configured: String {
        let milliseconds = Int(self / .milliseconds(1))
        let unit = durationUnits.first { milliseconds != 0 && milliseconds % $0.milliseconds == 0 }
        return unit.map { "\(milliseconds / $0.milliseconds)\($0.name)" } ?? "0ms"
    }
}

/// A number of bytes as a configuration spells it.
enum ByteCount {
    /// Reads a whole number and its unit without a blank between: `64KB`, `8MB`, `1GB`.
    static func read(_ text: String) -> Int? {
        guard let (count, unit) = splitUnit(text),
            let factor = sizeUnits.first(where: { $0.name == unit })?.byteCount
        else { return nil }
        let (byteCount, overflows) = count.multipliedReportingOverflow(by: factor)
        return overflows ? nil : byteCount
    }

    /// The size in its largest unit without a remainder: `8MB`; plain bytes otherwise.
    static func show(_ byteCount: Int) -> String {
        let unit = sizeUnits.first { byteCount != 0 && byteCount % $0.byteCount == 0 }
        return unit.map { "\(byteCount / $0.byteCount)\($0.name)" } ?? byteCount.grouped
    }
}

/// `30s` to 30 and `s`; nil unless the text is decimal digits and then something else.
private func splitUnit(_ text: String) -> (count: Int, unit: Substring)? {
    let digits = text.prefix { $0.isASCII && $0.isWholeNumber }
    guard let count = Int(digits), digits.endIndex < text.endIndex else { return nil }
    return (count, text[digits.endIndex...])
}

extension Int {
    /// The number with commas from five digits on: `1024`, `10,000,000`.
    var grouped: String {
        let digits = String(magnitude)
        guard digits.count > 4 else { return String(self) }
        var shown = self < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { shown += "," }
            shown.append(digit)
        }
        return shown
    }
}
