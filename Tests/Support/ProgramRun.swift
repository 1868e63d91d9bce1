// Runs a program of this package to its end, for tests that need a process of their own.

package import Kernel

/// What a program printed, and how it ended.
package struct ProgramRun {
    /// Its output and its complaints, as they came.
    package let output: String
    package let status: ChildStatus?

    /// - Parameter isStopped: whether it is to stop with a word: then nobody needs a backtrace, for which it
    ///   would have to fork as it dies.
    package init(_ program: String, _ arguments: [String], isStopped: Bool = false) throws {
        // One pipe for both: nobody would read the other one meanwhile, and a full one is waited for.
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

    /// A program that was built with this test.
    package init(built name: String, _ arguments: [String], isStopped: Bool = false) throws {
        try self.init("\(try productsDirectory())/\(name)", arguments, isStopped: isStopped)
    }
}
