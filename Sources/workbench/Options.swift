// The command line of workbench.

/// The parsed options.
struct Options {
    var scenarios: [String] = []
    var isList = false
    var isHelp = false
    /// The destination of the JSON document: a file, or `-` for standard output in place of the
    /// table.
    var json: String?
    /// The destination of the chart.
    var chart: String?
    var hasDetails = false
    var isQuick = false
    var placements: [Placement] = [.free]
    var cpu = 0
    var rounds = 5
    /// Only cases whose name contains this text are measured.
    var filter = ""
    /// The number of operations, instead of each case's own.
    var operations: Int?
    var countsSystemCalls = true
    /// Set when this process is one round of one case: it prints raw values.
    var isRound = false
    /// Set when this process is a measured server: its kind, and the directory of its files.
    var leastServer: (kind: LeastServer, directory: String)?
    /// The file in which a round has the system calls of its server counted.
    var trace: String?

    static let usage = """
        usage: workbench SCENARIO... | loops | all | --list  [options]
          --rounds N        how often each case is measured, at least 5 (default 5)
          --case TEXT       only cases whose name contains TEXT
          --operations N    instead of each case's own number
          --pin[=CPU]       everything, servers included, on one cpu (default 0)
          --both            wherever the scheduler puts it, on one cpu, or both: as the table has it
          --no-system-calls don't count system calls (counting needs strace)
          --quick           small sizes in one process, to see that it works
          --details         every figure of every case, too
          --json FILE       everything as a JSON document; - is standard output, and no table
          --chart FILE      the main figures as an SVG picture
          --list            the scenarios and their cases

        """

    init(_ arguments: [String]) throws(WorkbenchError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--list": isList = true
            case "--help", "-h": isHelp = true
            case "--json": json = try Self.value(argument, rest.popFirst())
            case "--chart": chart = try Self.value(argument, rest.popFirst())
            case "--details": hasDetails = true
            case "--quick": isQuick = true
            case "--pin": placements = [.pinned]
            case "--both": placements = Placement.allCases
            case "--no-system-calls": countsSystemCalls = false
            case "--round": isRound = true
            case "--rounds": rounds = try Self.number(argument, rest.popFirst(), 5...1_000)
            case "--operations":
                operations = try Self.number(argument, rest.popFirst(), 1...100_000_000)
            case "--case": filter = try Self.value(argument, rest.popFirst())
            case "--trace": trace = try Self.value(argument, rest.popFirst())
            default:
                if let kind = LeastServer(rawValue: argument) {
                    leastServer = (kind, try Self.value(argument, rest.popFirst()))
                } else if argument.hasPrefix("--pin=") {
                    placements = [.pinned]
                    cpu = try Self.number("--pin", String(argument.dropFirst(6)), 0...1_023)
                } else if argument.hasPrefix("-") {
                    throw WorkbenchError(usage: "unknown option \(argument)")
                } else {
                    scenarios.append(argument)
                }
            }
        }
        if scenarios.isEmpty && !isList && !isHelp && leastServer == nil {
            throw WorkbenchError(usage: "which scenario?")
        }
    }

    private static func value(
        _ option: String, _ text: String?
    ) throws(WorkbenchError) -> String {
        guard let text else { throw WorkbenchError(usage: "\(option) needs a value") }
        return text
    }

    private static func number(
        _ option: String, _ text: String?, _ range: ClosedRange<Int>
    ) throws(WorkbenchError) -> Int {
        let text = try value(option, text)
        guard let number = Int(text), range.contains(number) else {
            throw WorkbenchError(
                usage: "\(option) is a number from \(range.lowerBound) to \(range.upperBound), "
                    + "not \(text)")
        }
        return number
    }
}
