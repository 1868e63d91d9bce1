// Programs: this one, those beside it, and those of the system.

internal import CMeasure
internal import Foundation
internal import Kernel

enum Executable {
    /// The path of this program.
    static func own() throws(WorkbenchError) -> String {
        let link = "/proc/self/exe"
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link) else {
            throw WorkbenchError("\(link) can't be read")
        }
        return path
    }

    /// The path of a program in this one's directory.
    static func beside(_ name: String) throws(WorkbenchError) -> String {
        let path = (try own() as NSString).deletingLastPathComponent + "/" + name
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw WorkbenchError("there is no \(path); build it: swift build -c release")
        }
        return path
    }

    /// The path of a program of the system.
    static func find(_ name: String) throws(WorkbenchError) -> String {
        let searchPath = Program.inheritedEnvironment()["PATH"] ?? "/usr/bin:/bin"
        do throws(ProgramError) {
            return try Program.find(name, in: searchPath)
        } catch {
            throw WorkbenchError("\(error); Scripts/bench installs it")
        }
    }

    /// The reason why a program of the system can't be started; nil if it can.
    static func obstacle(_ name: String) -> String? {
        (try? find(name)) == nil ? "there is no \(name); Scripts/bench installs it" : nil
    }

    /// Runs a program to its end.
    ///
    /// - Throws: its output, if it failed.
    static func run(_ command: ChildCommand, input: String = "") throws {
        var child = try ChildProcess.spawn(command)
        Interrupts.note(child.processID)
        defer { Interrupts.forget(child.processID) }
        if let pipe = child.takeInput() { try pipe.write(everything: Array(input.utf8)) }
        guard let output = child.takeOutput(), let errors = child.takeErrors() else { return }
        _ = try output.readEverything("its output", atMost: 1 << 20)
        let complaints = try errors.readEverything("its errors", atMost: 1 << 20)
        while true {
            switch child.reap() {
            case .exited(0): return
            case nil: measure_sleep(1_000_000)
            case .some(let status):
                let words = String(decoding: complaints, as: UTF8.self)
                throw WorkbenchError("\(command.program) ended badly (\(status)): \(words)")
            }
        }
    }

    /// The same command under strace, which writes its counts to a file when the command ends.
    ///
    /// Pauses are the harness's own, so they are not counted.
    static func traced(
        _ command: ChildCommand, to file: String
    ) throws(WorkbenchError) -> ChildCommand {
        var traced = command
        traced.program = try find("strace")
        traced.arguments =
            [
                "-f", "-c", "-qq", "-e", "trace=!clock_nanosleep", "-o", file, command.program,
            ] + command.arguments
        return traced
    }

    /// The number of system calls that strace counted, by their names; "total" is all of them.
    static func tracedCounts(in file: String) throws -> [String: Int] {
        let text = String(decoding: try File.read(file, atMost: 1 << 20), as: UTF8.self)
        var counts: [String: Int] = [:]
        // % time, seconds, usecs/call, calls, maybe errors, the name.
        for line in text.split(separator: "\n") {
            let columns = line.split(separator: " ")
            if columns.count >= 5, let count = Int(columns[3]), let name = columns.last {
                counts[String(name)] = count
            }
        }
        guard counts["total"] != nil else {
            throw WorkbenchError("strace counted nothing: \(text)")
        }
        return counts
    }
}
