// Random numbers of the kernel.

internal import CLinux
internal import Glibc

/// Numbers that another process can't guess, and does not get.
package enum SystemRandom {
    /// A random number; never 0.
    ///
    /// - Throws: ENOSYS, where the kernel has none.
    /// - Thread: any.
    /// - Blocks: early in the boot of the machine, until its kernel has collected enough.
    /// - Source: getrandom(2).
    package static func number() throws(SystemError) -> UInt64 {
        var number: UInt64 = 0
        while number == 0 {
            try retrying("getrandom") {
                unsafe withUnsafeMutableBytes(of: &number) { bytes in
                    unsafe clinux_random(bytes.baseAddress, bytes.count)
                }
            }
        }
        return number
    }

    /// So many random bytes, at most 256.
    ///
    /// - Throws: ENOSYS, where the kernel has none.
    /// - Thread: any.
    /// - Blocks: early in the boot of the machine, until its kernel has collected enough.
    /// - Source: getrandom(2): up to 256 bytes come in one piece.
    package static func bytes(_ count: Int) throws(SystemError) -> [UInt8] {
        require((0...256).contains(count), "\(count) random bytes at once")
        var bytes = [UInt8](repeating: 0, count: count)
        try retrying("getrandom") {
            unsafe bytes.withUnsafeMutableBytes { unsafe clinux_random($0.baseAddress, $0.count) }
        }
        return bytes
    }
}
