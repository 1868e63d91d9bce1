// A directory of a test's own.

internal import Kernel

/// A directory of one test; it is removed with its contents.
package final class TestDirectory: Sendable {
    package let path: String

    /// - Parameter parent: the directory in which it is made.
    package init(in parent: String = "/tmp") throws {
        path = try Directory.createTemporary(prefix: "\(parent)/workerd-test-")
    }

    deinit { Self.remove(path) }

    private static func remove(_ path: String) {
        // Removes a link, not its target.
        if (try? File.remove(path)) != nil { return }
        for name in (try? Directory.names(in: path)) ?? [] { remove("\(path)/\(name)") }
        try? Directory.remove(path)
    }

    /// The path of a file in it.
    package func file(_ name: String) -> String { "\(path)/\(name)" }
}

extension TestDirectory {
    /// Makes a program of a text.
    ///
    /// Another process writes the file: a process that is started elsewhere at that moment would
    /// inherit it from us, open for writing until its own program begins, and a file that is open
    /// for writing can't be executed.
    package func writeProgram(_ text: String, to name: String) throws {
        try File.write(Array(text.utf8), to: file("\(name).text"))
        var child = try ChildProcess.spawn(
            ChildCommand(
                program: "/usr/bin/install",
                arguments: ["-m", "755", file("\(name).text"), file(name)]))
        try waitUntilReady(child.endDescriptor.number)
        let status = child.reap()
        guard status == .exited(0) else { throw Unexpected("install: \(status as Any)") }
    }
}
