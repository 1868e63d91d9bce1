// Runs a program of this package to its end, for tests that need a process of their own.

package import Kernel

/// The output of a program, and its end.
package struct ProgramRun {
    /// Its standard output and standard error, in order of arrival.
    package let output: String
    package let status: ChildStatus?

    /// - Parameter isStopped: whether it is expected to trap: then it needs no backtrace, for which
    ///   it would have to fork as it dies.
    package init(_ program: String, _ arguments: [String], isStopped: Bool = false) throws {
        // One pipe for both: a second one would not be read meanwhile, and the program would wait
        // for it when it is full.
        let setting = isStopped ? "SWIFT_BACKTRACE=enable=no " : ""
        let merging = ["-c", "\(setting)exec \"$0\" \"$@\" 2>&1", program] + arguments
        var child = try ChildProcess.spawn(ChildCommand(program: "/bin/sh", arguments: merging))
        child.closeInput()
        guard let output = child.takeOutput() else {
            throw Unexpected("the pipe of \(program) was taken")
        }
        let bytes = try output.readEverything("a program's output", atMost: 1 << 22)
        self.output = String(decoding: bytes, as: UTF8.self)
        try waitUntilReady(child.endDescriptor.number)
        status = child.reap()
    }

    /// Runs a program that was built with this test.
    package init(built name: String, _ arguments: [String], isStopped: Bool = false) throws {
        try self.init("\(try productsDirectory())/\(name)", arguments, isStopped: isStopped)
    }
}
