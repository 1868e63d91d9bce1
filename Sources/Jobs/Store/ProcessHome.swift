// The home of a process number: where it means that process and no other one. Daemons of several
// machines and containers share a database, and each sees the processes of its own home only.

extension JobHolder {
    /// A machine, one start of it, and a name space of process numbers, as digests.
    package struct Home: Hashable, Sendable {
        /// From the top: a one, and 21 bits each of the machine, its start and the name space.
        package let word: UInt64

        private static let digitCount: UInt64 = 21
        private static let mark: UInt64 = 1 << 63

        /// - Parameters:
        ///   - machine: stays the same when the machine starts anew.
        ///   - start: another one at each start of the machine.
        ///   - numbers: the name space, among those of this start.
        package init(machine: [UInt8], start: [UInt8], numbers: [UInt8]) {
            word = [machine, start, numbers].reduce(1) { word, bytes in
                word << Self.digitCount | Self.digest(of: bytes)
            }
        }

        /// Reads the word of a home; nil if it is none.
        package init?(word: UInt64) {
            guard word & Self.mark != 0 else { return nil }
            self.word = word
        }

        /// Whether a process of this home can be looked up at another one: it has the same number
        /// there, or has ended with an earlier start of that machine.
        package func isSeen(from other: Home) -> Bool {
            start == other.start ? numbers == other.numbers : machine == other.machine
        }

        private var machine: UInt64 { word >> (2 * Self.digitCount) }
        private var start: UInt64 { digit(1) }
        private var numbers: UInt64 { digit(0) }

        private func digit(_ place: UInt64) -> UInt64 {
            word >> (place * Self.digitCount) & (1 << Self.digitCount - 1)
        }

        private static func digest(of bytes: [UInt8]) -> UInt64 {
            // FNV-1a, folded.
            let sum = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
                ($0 ^ UInt64($1)) &* 0x100_0000_01B3
            }
            return (sum ^ sum >> 32) & (1 << digitCount - 1)
        }
    }
}
