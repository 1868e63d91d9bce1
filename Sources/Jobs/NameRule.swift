// The names that users may give threads, selectors, schedules and backups.

/// The names that users give.
///
/// No slash: `mail/1` is the first member of the pool `mail`.
package enum NameRule {
    /// The end of an error message about a text that can't be a name.
    package static let text = "a name is 1…64 of the characters A-Z a-z 0-9 _ . -"

    /// Whether a text can be a name: 1…64 letters, digits, `_`, `.` or `-`.
    package static func accepts(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count) && name.utf8.allSatisfy(allows)
    }

    /// Whether a name may have this byte.
    static func allows(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
