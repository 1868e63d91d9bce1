// Runs a program of this package to its end, for tests that need a process of their own.

import Glibc
import Kernel

/// What a test waited for did not happen.
struct Unexpected: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// What a program printed, and how it ended.
struct ProgramRun {
    /// Its output and its complaints, as they came.
    let output: String
    let status: ChildStatus?

    init(_ program: String, _ arguments: [String]) throws {
        // One pipe for both: nobody would read the other one meanwhile, and a full one is waited for.
        let merging = ["-c", "exec \"$0\" \"$@\" 2>&1", program] + arguments
        var child = try ChildProcess.spawn(ChildCommand(program: "/bin/sh", arguments: merging))
        child.closeInput()
        guard let output = child.takeOutput() else {
            throw Unexpected("the pipe of \(program) was taken")
        }
        let bytes = try output.readEverything("a program's output", atMost: 1 << 22)
        self.output = String(decoding: bytes, as: UTF8.self)
        var end = pollfd(fd: child.endDescriptor.number, events: CShort(POLLIN), revents: 0)
        _ = unsafe poll(&end, 1, 60_000)
        status = child.reap()
    }

    /// A program that was built with this test.
    init(built name: String, _ arguments: [String]) throws {
        try self.init("\(try Self.productsDirectory())/\(name)", arguments)
    }

    /// Where a program lies that was built with this test.
    static func productsDirectory() throws -> String {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let count = unsafe readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { throw Unexpected("no /proc/self/exe") }
        let path = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }
}
