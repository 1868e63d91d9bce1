// One run of the real `workerctl`.

import Kernel
import Support
import WorkerDaemon

/// The exit status and the output of a program that has ended.
struct CommandLineRun {
    let status: Int
    let output: [UInt8]
    let errors: String

    var text: String { String(decoding: output, as: UTF8.self) }

    /// The one JSON document that was printed.
    func json() throws -> JSON5Value {
        guard text.hasSuffix("\n"), text.dropLast().allSatisfy({ !$0.isNewline }) else {
            throw Unexpected("not one line: \(text)")
        }
        return try JSON5Reader.read(output)
    }

    /// Runs `workerctl` to its end.
    ///
    /// - Parameters:
    ///   - environment: beside PATH; the tests' own is not passed on.
    ///   - redirections: how a shell starts it, such as `>&-`.
    init(
        _ arguments: [String], input: [UInt8] = [], environment: [String: String] = [:],
        redirections: String? = nil
    ) throws {
        var command = ChildCommand(program: try product("workerctl"), arguments: arguments)
        if let redirections {
            command.arguments =
                ["-c", "exec \"$0\" \"$@\" \(redirections)", command.program] + arguments
            command.program = "/bin/sh"
        }
        command.environment = environment.merging(["PATH": "/usr/bin:/bin"]) { left, _ in left }
        var child = try ChildProcess.spawn(command)
        if let pipe = child.takeInput(), !input.isEmpty { try pipe.write(everything: input) }
        guard let output = child.takeOutput(), let errors = child.takeErrors() else {
            throw Unexpected("no standard streams")
        }
        // Errors are a few lines and fit into their pipe while the output is read.
        self.output = try output.readEverything("output", atMost: 128 << 20)
        self.errors = String(
            decoding: try errors.readEverything("errors", atMost: 1 << 20), as: UTF8.self)
        try waitUntilReady(child.endDescriptor.number)
        guard case .exited(let status) = child.reap() else { throw Unexpected("no exit status") }
        self.status = status
    }
}

extension TestDaemon {
    /// Runs `workerctl` with this daemon's socket in its environment.
    func workerctl(_ arguments: String..., input: [UInt8] = []) throws -> CommandLineRun {
        try CommandLineRun(arguments, input: input, environment: ["WORKERD_SOCKET": socket])
    }
}

extension JSON5Value {
    subscript(key: String) -> JSON5Value? {
        guard case .object(let object, _) = self else { return nil }
        return object[key]?.value
    }

    var text: String? {
        guard case .string(let text, _) = self else { return nil }
        return text
    }

    var number: Double? {
        guard case .number(let number, _, _) = self else { return nil }
        return number
    }

    var elements: [JSON5Value]? {
        guard case .array(let elements, _) = self else { return nil }
        return elements
    }

    var keys: [String]? {
        guard case .object(let object, _) = self else { return nil }
        return object.members.map(\.key)
    }
}
