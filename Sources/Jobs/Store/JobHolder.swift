// The process that holds an attempt: a worker beside the daemon. A store keeps it with the attempt,
// so that after a restart the attempt can go on where it is.

/// A worker in another process that has been given an attempt.
package final class JobHolder: Sendable {
    /// The secret by which the worker ends the attempt: 128 random bits.
    package let token: Token
    /// The worker's process and its user; nil for one on another machine.
    package let process: Process?
    /// When it got the job, in Unix milliseconds.
    package let since: Int64
    /// The name that the worker has given itself, at most 64 bytes.
    package let name: String?

    package struct Token: Hashable, Sendable {
        package let high: UInt64
        package let low: UInt64

        package init(high: UInt64, low: UInt64) {
            self.high = high
            self.low = low
        }
    }

    /// A process that has connected to a daemon of its machine.
    package struct Process: Hashable, Sendable {
        package let id: Int
        package let userID: UInt32
        /// Tells the process from another one of its number, also after the machine has started
        /// anew; 0 if it is not known.
        package let birth: UInt64
        /// Where `id` means this process; nil if it is not known: then everywhere.
        package let home: Home?

        package init(id: Int, userID: UInt32, birth: UInt64, home: Home? = nil) {
            self.id = id
            self.userID = userID
            self.birth = birth
            self.home = home
        }
    }

    package init(token: Token, process: Process?, since: Int64, name: String?) {
        self.token = token
        self.process = process
        self.since = since
        self.name = name
    }

    /// The longest name that is kept.
    package static let nameByteCountMax = 64
    /// The number of words of a holder.
    package static let wordCount = 5 + nameByteCountMax / 8

    /// The longest name that leaves room for a zero behind it and the process's home.
    private static let nameByteCountWithHome = nameByteCountMax - 9

    /// The holder as words: token, process and user, birth, time, and the name, filled with zeros.
    ///
    /// The last word is the home of the process; daemons of before it had one read the name up to
    /// its first zero. A name that leaves no room for it takes the birth along: without both, no
    /// daemon looks the process up.
    package var words: [UInt64] {
        var words = [token.high, token.low, 0, 0, UInt64(clamping: since)]
        let hasRoom = (name?.utf8.count ?? 0) <= Self.nameByteCountWithHome
        if let process {
            words[2] = UInt64(UInt32(clamping: process.id)) | UInt64(process.userID) << 32
            if hasRoom || process.home == nil { words[3] = process.birth }
        }
        let bytes = Array((name ?? "").utf8.prefix(Self.nameByteCountMax))
        for start in stride(from: 0, to: Self.nameByteCountMax, by: 8) {
            var word: UInt64 = 0
            for (place, byte) in bytes.dropFirst(start).prefix(8).enumerated() {
                word |= UInt64(byte) << (8 * UInt64(place))
            }
            words.append(word)
        }
        if hasRoom, let home = process?.home { words[words.count - 1] = home.word }
        return words
    }

    /// Reads the words of a holder; nil if they are none.
    package convenience init?(_ words: [UInt64]) {
        guard words.count == Self.wordCount, words[0] | words[1] != 0 else { return nil }
        let bytes = words[5...].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) }
        }
        let nameBytes = bytes.prefix { $0 != 0 }
        let name = String(decoding: nameBytes, as: UTF8.self)
        let hasRoom = nameBytes.count <= Self.nameByteCountWithHome
        let id = Int(UInt32(truncatingIfNeeded: words[2]))
        self.init(
            token: Token(high: words[0], low: words[1]),
            process: id == 0
                ? nil
                : Process(
                    id: id, userID: UInt32(words[2] >> 32), birth: words[3],
                    home: hasRoom ? Home(word: words[Self.wordCount - 1]) : nil),
            since: Int64(clamping: words[4]), name: name.isEmpty ? nil : name)
    }
}

extension JobHolder.Token: LosslessStringConvertible {
    /// Reads 32 hexadecimal digits in small letters; nil for anything else.
    package init?(_ text: String) {
        guard text.utf8.count == 32 else { return nil }
        var words: (high: UInt64, low: UInt64) = (0, 0)
        for (place, byte) in text.utf8.enumerated() {
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            default: return nil
            }
            if place < 16 {
                words.high = words.high << 4 | UInt64(digit)
            } else {
                words.low = words.low << 4 | UInt64(digit)
            }
        }
        self.init(high: words.high, low: words.low)
    }

    /// 32 hexadecimal digits.
    package var description: String {
        [high, low].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}

/// A job whose attempt a worker of an earlier run may still hold.
package struct HeldJob: Sendable {
    /// The job, with as many attempts as before the one that is held.
    package let job: Job
    package let holder: JobHolder

    package init(job: Job, holder: JobHolder) {
        self.job = job
        self.holder = holder
    }
}
