// Foreign texts, such as a program's output, made safe for a terminal, a log and a single line.

/// A text whose terminal controls are replaced by escapes such as `\x1b` or `\u{202e}`.
///
/// - Parameter kept: controls that stay as they are, such as a line feed.
package func printable(_ text: String, except kept: [Unicode.Scalar] = []) -> String {
    let isHidden = { (scalar: Unicode.Scalar) in isControl(scalar) && !kept.contains(scalar) }
    guard text.unicodeScalars.contains(where: isHidden) else { return text }
    var shown = ""
    for scalar in text.unicodeScalars {
        guard isHidden(scalar) else {
            shown.unicodeScalars.append(scalar)
            continue
        }
        let digits = String(scalar.value, radix: 16)
        if scalar.value < 0x100 {
            shown += "\\x" + (digits.count < 2 ? "0" : "") + digits
        } else {
            shown += "\\u{\(digits)}"
        }
    }
    return shown
}

/// Whether a scalar moves a terminal's cursor, ends a line or changes the direction of writing.
///
/// - Source: Unicode Standard Annex #9 (bidirectional controls); C0 and C1 of ISO 6429.
package func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0: true
    case 0x061C, 0x200E, 0x200F, 0x2028, 0x2029: true
    case 0x202A...0x202E, 0x2066...0x2069: true
    default: false
    }
}

/// A name for an error message: in quotes, and cut to 64 scalars.
package func quoted(_ name: String) -> String {
    // Scalars, not characters: one character may have any number of them.
    let shown = name.unicodeScalars.prefix(64)
    return "'\(printable(String(shown)))\(shown.endIndex == name.endIndex ? "" : "…")'"
}

/// A text in one line of limited length: control characters, line feeds included, become blanks.
///
/// - Parameter scalarCountMax: the number of its Unicode scalars that are shown.
package func inOneLine(_ text: String, scalarCountMax: Int) -> String {
    var shown = String.UnicodeScalarView()
    for scalar in text.unicodeScalars.prefix(scalarCountMax) {
        shown.append(scalar.properties.generalCategory == .control ? " " : scalar)
    }
    return String(shown)
}
