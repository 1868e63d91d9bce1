// The name of this machine.

internal import Glibc

/// The name of this machine.
package enum HostName {
    /// The name as the kernel has it, such as `jobs-1` or `jobs-1.example.org`; empty if there is
    /// none.
    ///
    /// - Thread: any.
    /// - Blocks: never; nothing is looked up.
    /// - Source: gethostname(2); HOST_NAME_MAX is 64.
    package static var own: String {
        var text = [CChar](repeating: 0, count: 65)
        guard unsafe gethostname(&text, text.count - 1) == 0 else { return "" }
        return String(
            decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
