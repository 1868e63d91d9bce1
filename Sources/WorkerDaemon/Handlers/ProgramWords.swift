// Arguments and variables of one job, for a program whose configuration allows them by name.
//
// A client chooses values, and which of the allowed options are there: never an option that the
// configuration does not name, never an operand such as a file, and no shell reads any of it.

internal import Jobs
internal import Wording

extension Configuration.Selector {
    /// The first fault in what a job adds to its program's arguments and environment; nil if it has
    /// none.
    func faultInWords(of options: SharedJobOptions) -> String? {
        guard options.arguments != nil || options.environment != nil else { return nil }
        for word in JobOptions.words(options.arguments) {
            if let fault = fault(ofArgument: word) { return fault }
        }
        for word in JobOptions.words(options.environment) {
            if let fault = fault(ofVariable: word) { return fault }
        }
        return nil
    }

    private func fault(ofArgument word: String) -> String? {
        let (argument, value) = Self.parts(of: word)
        guard let form = jobArguments[argument] else {
            return Self.refusal(
                "argument", argument, jobArguments.keys.sorted(), of: name, "jobArguments")
        }
        switch form {
        case .flag where value != nil:
            return "ARGS: \(quoted(argument)) of selector \(quoted(name)) takes no value"
        case .joined where value == nil, .separate where value == nil:
            return "ARGS: \(quoted(argument)) of selector \(quoted(name)) needs a value: "
                + "\(argument)=VALUE"
        case .separate where value?.hasPrefix("-") == true || value?.isEmpty == true:
            // Some programs would take such a value for the next option.
            return "ARGS: the value of \(quoted(argument)) may not be empty or begin with '-'"
        case .flag, .joined, .separate: return nil
        }
    }

    private func fault(ofVariable word: String) -> String? {
        let (variable, value) = Self.parts(of: word)
        guard value != nil else { return "ENV: \(quoted(word)) is not NAME=VALUE" }
        guard jobVariables.contains(variable) else {
            return Self.refusal("variable", variable, jobVariables, of: name, "jobEnvironment")
        }
        return nil
    }

    private static func refusal(
        _ kind: String, _ given: String, _ allowed: [String], of name: String, _ key: String
    ) -> String {
        let known =
            allowed.isEmpty ? "none is allowed" : "allowed are \(allowed.joined(separator: ", "))"
        return "selector \(quoted(name)) lets jobs set no \(kind) \(quoted(given)): \(known) "
            + "(\(key) in the configuration)"
    }

    private static func parts(of word: String) -> (name: String, value: String?) {
        guard let sign = word.firstIndex(of: "=") else { return (word, nil) }
        return (String(word[..<sign]), String(word[word.index(after: sign)...]))
    }

    /// The program's arguments for a job without a fault.
    func arguments(for options: SharedJobOptions) -> [String] {
        let added = options.arguments == nil ? [] : JobOptions.words(options.arguments)
        let words = added.flatMap { word in
            let (argument, value) = Self.parts(of: word)
            guard jobArguments[argument] == .separate, let value else { return [word] }
            return [argument, value]
        }
        let configured = program.arguments.dropFirst()
        guard !jobArguments.isEmpty, let mark = configured.firstIndex(of: Self.argumentsMark) else {
            return configured + words
        }
        return configured[..<mark] + words + configured[(mark + 1)...]
    }

    /// The variables that a job without a fault sets.
    func variables(for options: SharedJobOptions) -> [String: String] {
        guard options.environment != nil else { return [:] }
        let pairs = JobOptions.words(options.environment).map { word in
            let (variable, value) = Self.parts(of: word)
            return (variable, value ?? "")
        }
        return Dictionary(pairs) { $1 }
    }
}

extension SchedulerDriver {
    /// Checks the words that a job adds to its program's arguments and environment.
    func checkWords(of request: borrowing JobRequest) throws(WireError) {
        guard request.options.arguments != nil || request.options.environment != nil,
            let handler = handlers[request.selector]
        else { return }
        guard case .program(let selector) = handler.kind else {
            let name = quoted(request.selector)
            throw WireError(.err, "selector \(name) is no program: it takes no ARGS and no ENV")
        }
        if let fault = selector.faultInWords(of: request.options) { throw WireError(.err, fault) }
    }
}
