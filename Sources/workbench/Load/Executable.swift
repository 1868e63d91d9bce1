// Programs: this one, those beside it, and those of the system.

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

    /// How many system calls strace counted.
    static func tracedCount(in file: String) throws -> Int {
        let text = String(decoding: try File.read(file, atMost: 1 << 20), as: UTF8.self)
        // % time, seconds, usecs/call, calls, maybe errors, "total".
        for line in text.split(separator: "\n") where line.hasSuffix(" total") {
            let columns = line.split(separator: " ")
            if columns.count >= 5, let count = Int(columns[3]) { return count }
        }
        throw WorkbenchError("strace counted nothing: \(text)")
    }
}
