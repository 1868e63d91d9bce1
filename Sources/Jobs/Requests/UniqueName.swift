// The unique name of a job that is accepted once, as a client gives it and as it is kept.

/// A job's unique name, and the rule for a repeated submit.
///
/// Behind a reference: few requests have one, and all are copied.
package final class UniqueName: Hashable, Sendable {
    /// The longest time for which a name is in force beyond its job's end: a year.
    package static let millisecondsMax: Int64 = 365 * 24 * 3_600_000

    package let bytes: [UInt8]
    /// Whether a repeated submit makes a new job if the first one has ended or was dropped.
    package let isAgain: Bool
    /// How long the name is in force from its job's acceptance on; nil for the configured time.
    package let milliseconds: Int64?

    package init(_ bytes: [UInt8], isAgain: Bool = false, milliseconds: Int64? = nil) {
        self.bytes = bytes
        self.isAgain = isAgain
        self.milliseconds = milliseconds
    }

    package static func == (left: UniqueName, right: UniqueName) -> Bool {
        left.bytes == right.bytes && left.isAgain == right.isAgain
            && left.milliseconds == right.milliseconds
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

/// A name that a submit asks for.
package struct NameClaim: Sendable {
    package let name: [UInt8]
    /// Whether the name of an ended job can be taken by a new one.
    package let isAgain: Bool
    /// The moment until which the name is in force, in Unix milliseconds: never before its job's
    /// end.
    package let until: Int64
    /// The thread, selector and payload that the name stands for.
    package let fingerprint: UInt64

    package init(name: [UInt8], isAgain: Bool, until: Int64, fingerprint: UInt64) {
        self.name = name
        self.isAgain = isAgain
        self.until = until
        self.fingerprint = fingerprint
    }
}

/// The job that a name leads to.
package struct NamedJob: Sendable, Equatable {
    package let id: JobID
    /// Whether it was submitted with the same thread, selector and payload.
    package let isSame: Bool

    package init(_ id: JobID, isSame: Bool) {
        self.id = id
        self.isSame = isSame
    }
}

extension JobRequest {
    /// A number for its thread, selector and payload: the same for the same ones, on any machine.
    package var fingerprint: UInt64 {
        var fingerprint = Fingerprint()
        fingerprint.add(PoolSlot.shown(thread).utf8.span)
        fingerprint.add(selector.utf8.span)
        fingerprint.add(payload.span)
        return fingerprint.value
    }
}

/// Mixes byte strings into a number, eight bytes at a time.
///
/// Kept in stores, so the function never changes. Different requests share one by chance only.
private struct Fingerprint {
    private(set) var value: UInt64 = 0x9E37_79B9_7F4A_7C15

    mutating func add(_ bytes: Span<UInt8>) {
        mix(UInt64(bytes.count))
        var place = 0
        while place < bytes.count {
            var word: UInt64 = 0
            let end = min(place + 8, bytes.count)
            while place < end {
                word = word << 8 | UInt64(bytes[place])
                place += 1
            }
            mix(word)
        }
    }

    private mutating func mix(_ word: UInt64) {
        let (high, low) = (value ^ word).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
        value = high ^ low ^ (word &* 0x9FB2_1C65_1E98_DF25)
    }
}
