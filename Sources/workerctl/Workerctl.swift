// From arguments to an exit status: read the line, find the command, run it, report a failure.

internal import Kernel
internal import Wording

/// The program as a whole.
enum Workerctl {
    /// Runs the program.
    ///
    /// - Parameter arguments: without the program's name.
    /// - Returns: the exit status.
    static func run(_ arguments: [String]) -> Int32 {
        // Else what is for a stream that is closed would end the program, or go to what got its
        // number.
        try? StandardStream.openMissing()
        var isJSON = arguments.prefix { $0 != "--" }.contains("--json")
        var colour = Style.Colour.auto
        do throws(Failure) {
            try checkText()
            let line = try ArgumentReader.read(arguments)
            isJSON = line.has(.json)
            colour = try Style.Colour(line)
            if line.has(.version) {
                try Output.write("workerctl \(Release.version)\n")
                return 0
            }
            guard let name = line.words.first?.text else {
                if line.has(.help) {
                    try Output.write(Help.overview)
                    return 0
                }
                if let fault = Program.argumentsFault {
                    throw .usage(fault, try: "mount -t proc proc /proc")
                }
                throw .usage("a command is missing", try: "workerctl help")
            }
            let command = try SubcommandTable.command(named: name)
            if line.has(.help) {
                try Output.write(Help.text(of: command))
                return 0
            }
            try command.run(try Invocation(line, of: command))
            return 0
        } catch {
            report(error, isJSON: isJSON, colour)
            return error.status.rawValue
        }
    }

    /// Refuses arguments that Swift has read as other ones: a payload has to arrive as it was
    /// given.
    private static func checkText() throws(Failure) {
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = unsafe CommandLine.unsafeArgv[index],
                unsafe String(validatingCString: argument) == nil
            else { continue }
            throw .usage(
                "argument \(index) is not UTF-8",
                try: "a payload of any bytes with --file FILE, or with - on standard input")
        }
    }

    private static func report(_ failure: Failure, isJSON: Bool, _ colour: Style.Colour) {
        if failure.isTold { return }
        let style = Style(for: .error, colour)
        var text = style.bad("workerctl:") + " " + Terminal.printable(failure.description) + "\n"
        if let advice = failure.advice { text += "  try: \(Terminal.printable(advice))\n" }
        // When standard error has no reader, the exit status still tells.
        try? StandardStream.error.write(everything: Array(text.utf8))
        if isJSON { try? Output.write(failure.json) }
    }
}
