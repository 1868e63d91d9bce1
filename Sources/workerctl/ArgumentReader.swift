// Cuts the command line into words and options. Knows what options there are, but not which command
// takes which.

internal import Wording

/// A command line, read.
struct ArgumentLine {
    /// A word that is neither an option nor the value of one.
    struct Word {
        let text: String
        /// Whether it stood behind `--`, so that `-` is just that.
        let isLiteral: Bool
    }

    /// The command's name and what it is about.
    var words: [Word] = []
    /// The options given; the value is nil for a flag, and for `--wait` without a time.
    var options: [Option: String?] = [:]

    /// The values of options that may be given several times.
    var lists: [Option: [String]] = [:]

    func has(_ option: Option) -> Bool { options[option] != nil || lists[option] != nil }

    func value(of option: Option) -> String? { options[option] ?? nil }
}

enum ArgumentReader {
    /// Other names of options, which help leaves out.
    private static let aliases = ["-h": "--help", "--payload-file": "--file"]

    /// Reads a line: `--name value`, `--name=value`, `-h`; what follows `--` is words only.
    static func read(_ arguments: [String]) throws(Failure) -> ArgumentLine {
        var line = ArgumentLine()
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                line.words += rest.map { ArgumentLine.Word(text: $0, isLiteral: true) }
                break
            }
            if argument == "-" || !argument.hasPrefix("-") {
                line.words.append(ArgumentLine.Word(text: argument, isLiteral: false))
                continue
            }
            try readOption(argument, &rest, into: &line)
        }
        return line
    }

    private static func readOption(
        _ argument: String, _ rest: inout ArraySlice<String>, into line: inout ArgumentLine
    ) throws(Failure) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        let attached = parts.count > 1 ? String(parts[1]) : nil
        guard let option = Option(rawValue: aliases[name] ?? name) else { throw unknown(name) }
        if line.options[option] != nil, option != .json, option != .help {
            throw .usage("\(name) is given twice", try: "workerctl help")
        }
        // Only behind the command's name: in front of it, the command is not known yet.
        let isFlag = line.words.first.map {
            SubcommandTable.find($0.text)?.flags.contains(option) == true
        }
        switch isFlag == true ? .flag : option.arity {
        case .flag:
            guard attached == nil else {
                throw .usage("\(name) takes no value", try: name)
            }
            line.options[option] = .some(nil)
        case .value(let kind):
            guard let value = attached ?? rest.popFirst() else {
                throw .usage("\(name) needs a value: \(kind)", try: option.usage)
            }
            line.options[option] = value
        case .values(let kind):
            guard let value = attached ?? rest.popFirst() else {
                throw .usage("\(name) needs a value: \(kind)", try: option.usage)
            }
            line.lists[option, default: []].append(value)
        case .optionalDuration:
            if let attached {
                line.options[option] = attached
            } else if let next = rest.first, Durations.milliseconds(next) != nil {
                line.options[option] = rest.removeFirst()
            } else {
                line.options[option] = .some(nil)
            }
        }
    }

    private static func unknown(_ name: String) -> Failure {
        if let near = Spelling.nearest(to: name, among: Option.allCases.map(\.rawValue)) {
            return .usage("there is no option \(name)", try: "\(near)")
        }
        return .usage(
            "there is no option \(name)",
            try: "workerctl help; a payload that begins with - goes behind --")
    }
}
