// A number for a set of threads. Daemons compare by it whether each thread is served by one of
// them: then their numbers add up to that of all threads. Pure.

/// The sum of the hashes of threads' names.
package enum ThreadSum {
    /// The sum for names, each counted as often as it is there; 0 for none.
    ///
    /// The same in all versions: daemons of several versions tell it each other.
    ///
    /// - Complexity: O(bytes of all names).
    package static func of(_ names: some Sequence<String>) -> Int {
        names.reduce(0) { $0 &+ Int(truncatingIfNeeded: NameHash.of($1.utf8)) }
    }
}

/// The hash of names, the same for ever.
///
/// - Source: FNV-1a, www.isthe.com/chongo/tech/comp/fnv.
enum NameHash {
    static func of(
        _ bytes: some Sequence<UInt8>, after start: UInt64 = 0xcbf2_9ce4_8422_2325
    ) -> UInt64 {
        bytes.reduce(start) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }
}
