// The progress lines that a program writes to descriptor 3: bytes in, lines out, within limits.
// Pure; it knows no descriptor.

package import Jobs

/// Extracts progress lines from a program's bytes.
///
/// A line is a percentage, a text, or both: `40`, `40%`, `40% converting`, `12.5 page 3`,
/// `converting`. A line that begins with a digit must be a percentage.
package struct ProgressLines {
    /// The longest line in bytes, without its line feed; a longer one is ignored.
    package static let byteCountMax = 512

    private var line: [UInt8] = []
    private var isTooLong = false
    /// The number of malformed lines.
    package private(set) var junkCount = 0

    package init() {}

    /// Adds bytes.
    ///
    /// - Returns: the last complete line with progress: of several that come together only the last
    ///   counts.
    package mutating func take(_ bytes: some Sequence<UInt8>) -> JobProgress? {
        var last: JobProgress?
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                if let progress = endLine() { last = progress }
            } else if line.count < Self.byteCountMax {
                line.append(byte)
            } else {
                isTooLong = true
            }
        }
        return last
    }

    private mutating func endLine() -> JobProgress? {
        defer {
            line.removeAll(keepingCapacity: true)
            isTooLong = false
        }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard !isTooLong, let progress = Self.parse(line) else {
            junkCount += 1
            return nil
        }
        return progress
    }

    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

    private static func parse(_ line: [UInt8]) -> JobProgress? {
        guard let text = String(validating: line, as: UTF8.self),
            !text.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\t" })
        else { return nil }
        let words = text.split(maxSplits: 1, whereSeparator: { $0 == " " || $0 == "\t" })
        guard var number = words.first else { return nil }
        guard let first = number.utf8.first, Self.digits.contains(first) else {
            return JobProgress(fraction: nil, text: trimmed(text[...]))
        }
        if number.last == "%" { number.removeLast() }
        guard number.utf8.allSatisfy({ Self.digits.contains($0) || $0 == UInt8(ascii: ".") }),
            let percentage = Double(number), (0...100).contains(percentage)
        else { return nil }
        return JobProgress(
            fraction: percentage / 100, text: words.count == 2 ? trimmed(words[1]) : nil)
    }

    private static func trimmed(_ text: Substring) -> String? {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        var text = text.drop(while: isBlank)
        while let last = text.last, isBlank(last) { text.removeLast() }
        return text.isEmpty ? nil : String(text)
    }
}
