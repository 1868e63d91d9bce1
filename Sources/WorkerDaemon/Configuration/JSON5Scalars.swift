// The classes of characters in a JSON5 text (https://spec.json5.org, ECMAScript 5.1 section 7), and
// how faults show a piece of foreign text.

extension Unicode.Scalar {
    /// Whether it ends a `//` comment.
    var isJSON5LineEnd: Bool {
        switch self {
        case "\n", "\r", "\u{2028}", "\u{2029}": true
        default: false
        }
    }

    var isJSON5Blank: Bool {
        switch self {
        case " ", "\t", "\u{B}", "\u{C}", "\u{A0}", "\u{FEFF}": true
        default: isJSON5LineEnd || (!isASCII && properties.generalCategory == .spaceSeparator)
        }
    }

    var isDecimalDigit: Bool { ("0"..."9").contains(self) }

    var hexDigitValue: UInt32? {
        switch self {
        case "0"..."9": value - 48
        case "a"..."f": value - 87
        case "A"..."F": value - 55
        default: nil
        }
    }

    /// Whether a name without quotes may contain it, or begin with it.
    func isJSON5NamePart(first: Bool) -> Bool {
        switch self {
        case "a"..."z", "A"..."Z", "$", "_": return true
        case "\u{200C}", "\u{200D}": return !first
        default: break
        }
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
            .letterNumber:
            return true
        case .nonspacingMark, .spacingMark, .decimalNumber, .connectorPunctuation:
            return !first
        default:
            return false
        }
    }
}

extension String {
    /// The text in quotes, safe in a log: cut after 64 characters, invisible ones as their number.
    ///
    /// Invisible are line ends, control and direction characters.
    var quoted: String {
        var shown = "\""
        for scalar in unicodeScalars.prefix(64) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                shown += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            default:
                shown.unicodeScalars.append(scalar)
            }
        }
        return shown + (unicodeScalars.dropFirst(64).isEmpty ? "\"" : "…\"")
    }
}
