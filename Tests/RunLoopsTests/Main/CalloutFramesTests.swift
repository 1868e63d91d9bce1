// The view of a hanging program in a debugger: in which callout each loop is.

import Kernel
import RunLoops
import Support
import Testing

private let gdb = try? Program.find(
    "gdb", in: Program.inheritedEnvironment()["PATH"] ?? "")

@Suite struct `The stack of a callout` {
    @Test(
        .timeLimit(.minutes(2)),
        .enabled(if: gdb != nil, "gdb is not installed: apt-get install gdb"))
    func `names in a debugger what the loop has called`() throws {
        let program = "\(try productsDirectory())/ProgramCallouts"
        // The debugger starts the program, because many systems let no other process look into it.
        let run = try ProgramRun(
            try #require(gdb),
            [
                "-batch", "-nx", "-iex", "set debuginfod enabled off",
                "-ex", "set startup-with-shell off", "-ex", "set disable-randomization off",
                "-ex", "run", "-ex", "thread apply all backtrace", "--args", program,
            ])
        guard run.output.contains("SIGTRAP") else {
            let text = run.output
            if text.contains("ptrace") || text.contains("Operation not permitted") {
                try Test.cancel("the system lets no debugger look into a program: \(text)")
            }
            throw Unexpected("gdb did not get to the program's SIGTRAP: \(text.suffix(2_000))")
        }
        let threads = run.output.components(startingWith: "\nThread ")
        for (thread, frame) in [
            ("source", "performSource"), ("port", "handlePort"), ("timer", "fireTimer"),
            ("time-out", "fireTimeout"), ("observer", "tellObserver"), ("block", "runBlock"),
            ("ProgramCallouts", "serveMainQueue"),
        ] {
            // It calls the main thread by the program's name, of which the kernel keeps 15 bytes.
            let its = threads.first { $0.contains("\"\(thread)\"") }
            let stack = try #require(its, "no thread \(thread) in \(run.output)")
            let frames = stack.split(separator: "\n").filter { $0.contains("Callout") }
            #expect(frames.contains { $0.contains(frame) }, "\(stack)")
        }
    }
}

extension String {
    /// Its parts, each but the first beginning with `start`.
    fileprivate func components(startingWith start: String) -> [String] {
        var parts = [""]
        for line in split(separator: "\n", omittingEmptySubsequences: false) {
            if "\n\(line)".hasPrefix(start) { parts.append("") }
            parts[parts.count - 1] += "\(line)\n"
        }
        return parts
    }
}
