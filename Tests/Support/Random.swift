// Pseudo-random numbers that a seed determines, so that a failure can be replayed.

internal import Structures

/// A generator of 64-bit numbers that a seed determines.
package struct SeededRandom: RandomNumberGenerator {
    private var source: SplitMix64

    package init(seed: UInt64) { source = SplitMix64(seed: seed) }

    package mutating func next() -> UInt64 { source.next() }
}

extension SeededRandom {
    /// True in `percent` of 100 cases.
    package mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    /// A number from 0 up to, but not including, `bound`.
    package mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

    /// Random bytes.
    package mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }
}
