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
    let output: String
    let errors: String
    let status: ChildStatus?

    init(_ program: String, _ arguments: [String]) throws {
        var child = try ChildProcess.spawn(ChildCommand(program: program, arguments: arguments))
        child.closeInput()
        guard let output = child.takeOutput(), let errors = child.takeErrors() else {
            throw Unexpected("the pipes of \(program) were taken")
        }
        // Whoever writes more to its errors than a pipe holds is not waited for: the limit is 64 KiB.
        self.output = try Self.text(output)
        self.errors = try Self.text(errors)
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

    private static func text(_ pipe: borrowing Descriptor) throws -> String {
        String(decoding: try pipe.readEverything("a program's output", atMost: 1 << 22), as: UTF8.self)
    }
}
