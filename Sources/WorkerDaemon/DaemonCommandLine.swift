// The command line of `workerd`.

internal import Kernel
internal import Wording

/// The command line of `workerd`.
public enum DaemonCommandLine {
    private static var usage: String {
        let width = 16
        return options.reduce("usage: workerd --config FILE [--check]\n") { text, option in
            let shown = option.name + (option.value.isEmpty ? "" : " \(option.value)")
            let padding = String(repeating: " ", count: max(1, width - shown.count))
            return text + "  \(shown)\(padding)\(option.meaning)\n"
        }
    }

    /// Runs `workerd`.
    ///
    /// - Parameter arguments: without the program's name.
    /// - Returns: the exit status.
    /// - Thread: the main thread, before any other is started.
    /// - Blocks: until the daemon is down.
    public static func run(_ arguments: [String]) -> Int32 {
        var path: String?
        var isCheck = false
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--config":
                guard let value = rest.popFirst() else { return misuse("--config needs a file") }
                path = value
            case "--check": isCheck = true
            case "--version":
                say("workerd \(Service.version)\n", on: .output)
                return 0
            case "--manual":
                say(manual.text, on: .output)
                return 0
            case "--help", "-h":
                say(usage, on: .output)
                return 0
            default:
                if argument.hasPrefix("--config=") {
                    path = String(argument.dropFirst("--config=".count))
                } else {
                    return misuse("unknown argument \(argument)")
                }
            }
        }
        guard let path else {
            return misuse(Program.argumentsFault ?? "--config FILE is missing")
        }
        do throws(DaemonError) {
            if isCheck {
                let found = try Daemon.check(path)
                for warning in found.warnings { say("\(warning)\n", on: .error) }
                for note in found.notes { say("\(path): \(note)\n", on: .output) }
                say("\(path): no fault\n", on: .output)
                return 0
            }
            let configuration = try Daemon.readConfiguration(
                path, builtInSelectors: Set(Handler.builtIn.keys))
            return Daemon(configuration: configuration, readFrom: path).run()
        } catch {
            say("\(error)\n", on: .error)
            return error.exitStatus
        }
    }

    private static func misuse(_ fault: String) -> Int32 {
        say("workerd: \(fault)\n\(usage)", on: .error)
        return DaemonError.badUsage
    }

    private static func say(_ text: String, on stream: StandardStream) {
        try? stream.write(everything: Array(text.utf8))
    }
}
