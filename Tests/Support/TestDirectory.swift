// A directory of a test's own.

internal import Kernel

/// A directory that only this test knows; removed with all that is in it.
package final class TestDirectory: Sendable {
    package let path: String

    /// - Parameter parent: the directory in which it is made.
    package init(in parent: String = "/tmp") throws {
        path = try Directory.createTemporary(prefix: "\(parent)/workerd-test-")
    }

    deinit { Self.remove(path) }

    private static func remove(_ path: String) {
        // A link goes, not what it leads to.
        if (try? File.remove(path)) != nil { return }
        for name in (try? Directory.names(in: path)) ?? [] { remove("\(path)/\(name)") }
        try? Directory.remove(path)
    }

    /// The path of a file in it.
    package func file(_ name: String) -> String { "\(path)/\(name)" }
}
