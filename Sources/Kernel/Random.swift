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
}
