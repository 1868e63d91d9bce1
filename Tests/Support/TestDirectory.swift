// A directory of a test's own.

internal import Kernel

/// A directory that only this test knows; removed with the files in it.
package final class TestDirectory: Sendable {
    package let path: String

    /// - Parameter parent: the directory in which it is made.
    package init(in parent: String = "/tmp") throws {
        path = try Directory.createTemporary(prefix: "\(parent)/workerd-test-")
    }

    deinit {
        for name in (try? Directory.names(in: path)) ?? [] {
            try? File.remove(file(name))
            try? Directory.remove(file(name))
        }
        try? Directory.remove(path)
    }

    /// The path of a file in it.
    package func file(_ name: String) -> String { "\(path)/\(name)" }
}
