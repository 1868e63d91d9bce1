// The configured selectors. A program has a command and limits; a worker in another process has a
// lease.

extension Configuration {
    /// A selector whose handler is a program, or a worker in another process: payload in, result
    /// out.
    package struct Selector: Sendable, Equatable {
        /// The command to start: an argument vector, never a shell line.
        package struct Program: Sendable, Equatable {
            /// The absolute path of the file that is executed.
            package var executable: String
            /// The configured arguments, the name of the program first.
            package var arguments: [String]

            package init(executable: String, arguments: [String]) {
                self.executable = executable
                self.arguments = arguments
            }
        }

        /// The handlers that are part of the daemon.
        package static let builtInNames = ["echo", "sleep", "fail", "sha256"]

        package let name: String
        package var program = Program(executable: "", arguments: [])
        /// Whether workers in other processes serve it, in place of a program.
        package var isForWorkers = false
        /// The time for which a job is kept for its worker after the connection has closed.
        package var lease = Duration.seconds(30)
        /// The time for which a job is kept for a worker that was given it before a restart; nil
        /// for its time limit, and without one until the worker's process has ended.
        package var leaseAfterRestart: Duration?
        /// The number of workers that may vanish with a job before the job fails.
        package var lostCountMax = 3
        /// The time limit of an attempt; nil for none.
        package var timeout: Duration? = .seconds(60)
        /// The time from SIGTERM to SIGKILL.
        package var graceAfterTerm = Duration.seconds(5)
        /// The rule for it while another daemon may have its job.
        package var whenStoreAway = StoreAwayRule.finish
        /// The bytes that it may write to its standard output.
        package var maxOutputBytes = 8 << 20
        /// Its memory limit; nil for the system's.
        package var maxMemoryBytes: Int?
        /// The kind of its memory limit.
        package var memoryLimit = MemoryRule.auto
        /// The absolute path of its working directory; nil for the daemon's.
        package var directory: String?
        /// Variables that are added to its environment, or replaced there.
        package var environment: [String: String] = [:]
        /// Variables of the daemon's own environment that it gets beside the usual ones.
        package var passedVariables: [String] = []
        /// Whether it gets all of the daemon's environment.
        package var inheritsEnvironment = false
        /// The arguments that a job may add, by their names, which begin with `-`.
        package var jobArguments: [String: ArgumentForm] = [:]
        /// The variables that a job may set.
        package var jobVariables: [String] = []
        /// The time after its acceptance at which a waiting job expires by default; nil for never.
        package var expire: Duration?
        /// The number of retries by default.
        package var retryCountMax = 0

        /// The rule for the jobs behind one that is retried.
        package var retryManner = RetryManner.aside

        /// How a job is retried.
        package enum RetryManner: String, Sendable, Equatable, CaseIterable {
            /// It moves aside, and the others go on.
            case aside
            /// The other jobs of its key wait until it has ended; without a key, those of its
            /// thread.
            case block
        }

        /// The kinds of memory limits.
        package enum MemoryRule: String, Sendable, Equatable, CaseIterable {
            /// All processes, by their control group where there is one, else as `resident`.
            case auto
            /// All processes, by their control group.
            case cgroup
            /// The resident memory of the process group, sampled.
            case resident
            /// The address space of each process (RLIMIT_AS).
            case addressSpace
        }

        /// The rules for programs of a daemon that no longer trusts its store: another daemon may
        /// have their jobs soon.
        package enum StoreAwayRule: String, Sendable, Equatable, CaseIterable {
            /// They go on.
            case finish
            /// They are killed, and their jobs run again when the store is trusted.
            case kill
        }

        /// The form of an argument that a job may add.
        package enum ArgumentForm: String, Sendable, Equatable, CaseIterable {
            /// Nothing: `--verbose`.
            case flag
            /// A value in the same argument: `--size=40`.
            case joined
            /// A value in the next argument, which may not begin with `-`: `-s 40`.
            case separate
        }

        /// The element of `program` in whose place the job's arguments stand; else they come last.
        package static let argumentsMark = "{arguments}"

        /// More retries than are useful: the last pauses between them are an hour each.
        package static let retryCountLimit = 100

        package init(name: String) {
            self.name = name
        }
    }
}

extension Configuration.Selector: ConfigurationSection {
    static func make(_ name: String, at place: Place) -> Configuration.Selector? {
        guard Configuration.isName(name, at: place) else { return nil }
        if builtInNames.contains(name) {
            place.report("is built in and may not be redefined: choose another name")
            return nil
        }
        return Configuration.Selector(name: name)
    }

    mutating func read(from section: inout SectionReader) {
        section.read("worker", into: &isForWorkers, .boolean)
        if isForWorkers {
            readOfWorkers(from: &section)
        } else {
            readOfProgram(from: &section)
        }
        section.read("expire", into: &expire, Configuration.expiry)
        section.read("retries", into: &retryCountMax, .whole(0...Self.retryCountLimit))
        section.read("retry", into: &retryManner, .choice)
    }

    private mutating func readOfWorkers(from section: inout SectionReader) {
        timeout = nil
        section.read(
            "timeout", into: &timeout, .durationOrNone(.milliseconds(1) ... .seconds(24 * 3600)))
        section.read("lease", into: &lease, .duration(.zero ... .seconds(24 * 3600)))
        section.read(
            "leaseAfterRestart", into: &leaseAfterRestart,
            .durationOrNone(.zero ... .seconds(24 * 3600)))
        section.read("lost", into: &lostCountMax, .whole(1...1_000))
    }

    private mutating func readOfProgram(from section: inout SectionReader) {
        section.require(
            "program", into: &program, .program, example: "program: [\"gzip\", \"-9c\"]")
        section.read(
            "timeout", into: &timeout, .durationOrNone(.milliseconds(1) ... .seconds(24 * 3600)))
        section.read("graceAfterTerm", into: &graceAfterTerm, .duration(.zero ... .seconds(3600)))
        section.read("whenStoreAway", into: &whenStoreAway, .choice)
        section.read("maxOutput", into: &maxOutputBytes, .size(1...(1 << 30)))
        section.read("maxMemory", into: &maxMemoryBytes, .size((1 << 20)...(1 << 40)))
        section.read("memoryLimit", into: &memoryLimit, .choice)
        section.read("directory", into: &directory, .directory)
        section.values(
            "environment", into: &environment, .variable, isName: Self.isEnvironmentName)
        section.read(
            "passEnvironment", into: &passedVariables, .variableNames(Self.isEnvironmentName))
        section.read("inheritEnvironment", into: &inheritsEnvironment, .boolean)
        section.values(
            "jobArguments", into: &jobArguments, .choice, isName: Self.isArgumentName)
        section.read(
            "jobEnvironment", into: &jobVariables, .variableNames(Self.isJobVariableName))
    }

    /// An argument that a client may choose is an option, never an operand such as a file.
    private static func isArgumentName(_ name: String, at place: Place) -> Bool {
        let bytes = name.utf8
        if name == "--" {
            place.report(
                "ends a program's options, and is none: write it into program, behind "
                    + argumentsMark.quoted)
            return false
        }
        if (2...64).contains(bytes.count), name.hasPrefix("-"),
            !bytes.contains(UInt8(ascii: "=")), !bytes.contains(0)
        {
            return true
        }
        place.report(
            "the name of an argument begins with \"-\" and has 2…64 bytes, "
                + "none of them \"=\" or zero")
        return false
    }

    /// Names that workerd sets itself, and those by which a client would choose the code that runs.
    private static func isJobVariableName(_ name: String, at place: Place) -> Bool {
        guard isEnvironmentName(name, at: place) else { return false }
        let isDangerous =
            ["PATH", "IFS", "ENV", "BASH_ENV", "SHELLOPTS"].contains(name)
            || name.hasPrefix("LD_") || name.hasPrefix("WORKERD_")
        if isDangerous {
            place.report(
                "\(name.quoted) may not be set by a job: it could choose the code that runs")
        }
        return !isDangerous
    }

    /// environ(7): a name ends at the first `=`.
    static func isEnvironmentName(_ name: String, at place: Place) -> Bool {
        let bytes = name.utf8
        if (1...1024).contains(bytes.count), !bytes.contains(UInt8(ascii: "=")), !bytes.contains(0)
        {
            return true
        }
        place.report("the name of a variable has 1…1024 bytes, none of them \"=\" or zero")
        return false
    }
}

extension Configuration {
    /// The rule for `expire`: up to a year, or "none".
    static var expiry: ValueRule<Duration?> {
        .durationOrNone(.milliseconds(1) ... .seconds(366 * 24 * 3600))
    }
}

extension ValueRule<String> {
    /// The longest argument or variable.
    ///
    /// MAX_ARG_STRLEN is 128 KiB with its zero byte (execve(2)), of which a variable's name and its
    /// `=` take their part.
    private static var byteCountMax: Int { 128 << 10 - 2048 }

    fileprivate static var argument: ValueRule { text(such: "-9c", byteCountMax: byteCountMax) }
    fileprivate static var variable: ValueRule { text(such: "C.UTF-8", byteCountMax: byteCountMax) }
}

extension ValueRule<[String]> {
    /// Names of environment variables, at most 1,024.
    fileprivate static func variableNames(
        _ isName: @escaping (String, Place) -> Bool
    ) -> ValueRule {
        ValueRule { value, place in
            guard case .array(let elements, _) = value, elements.count <= 1024 else {
                place.wrongType(value, expected: "a list of at most 1024 names such as [\"TZ\"]")
                return nil
            }
            var names: [String] = []
            for (index, element) in elements.enumerated() {
                let place = place.element(index, at: element.position)
                let rule = ValueRule<String>.text(such: "TZ", byteCountMax: 1024)
                guard let name = rule.read(element, place), isName(name, place) else { return nil }
                names.append(name)
            }
            return names
        }
    }
}

extension ValueRule<Configuration.Selector.Program> {
    /// 1…1024 strings, the first of which is a program that this process may execute.
    fileprivate static var program: ValueRule {
        ValueRule { value, place in
            guard case .array(let elements, _) = value else {
                place.wrongType(value, expected: "a list such as [\"gzip\", \"-9c\"]")
                return nil
            }
            guard (1...1024).contains(elements.count) else {
                place.report("must have 1…1024 elements, has \(elements.count.grouped)")
                return nil
            }
            var arguments: [String] = []
            for (index, element) in elements.enumerated() {
                let place = place.element(index, at: element.position)
                if let argument = ValueRule<String>.argument.read(element, place) {
                    arguments.append(argument)
                }
            }
            guard arguments.count == elements.count,
                let executable = findExecutable(
                    arguments[0], at: place.element(0, at: elements[0].position))
            else { return nil }
            return Configuration.Selector.Program(executable: executable, arguments: arguments)
        }
    }

    private static func findExecutable(_ name: String, at place: Place) -> String? {
        guard !name.isEmpty, name.hasPrefix("/") || !name.contains("/") else {
            place.report(
                "must be an absolute path or the name of a program in PATH, is \(name.quoted)")
            return nil
        }
        guard name.hasPrefix("/") else {
            if let path = place.files.findProgram(name) { return path }
            let searched = place.files.searchPath.joined(separator: ":")
            place.report("no program \(name.quoted) in PATH (\(searched.quoted))")
            return nil
        }
        switch place.files.kind(name) {
        case .program: return name
        case .missing: place.report("\(name.quoted) does not exist")
        case .directory: place.report("\(name.quoted) is a directory, must be a program")
        case .other: place.report("\(name.quoted) is not executable")
        }
        return nil
    }
}
