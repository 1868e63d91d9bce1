// Runs scenarios: every case in every round, round after round, so that a disturbance of the
// machine hits all contenders. Each round of each case is a process of its own, started from this
// one.

internal import CMeasure
internal import Kernel

/// The measurements of one case.
struct CaseResult {
    let group: String
    let contender: String
    let placement: Placement
    let operations: Int
    var values: [String: [Double]] = [:]
    var hash: UInt64 = 0
    /// The reason why it was not measured.
    var obstacle: String?

    /// Adds the figures of one round.
    mutating func add(_ sample: Sample) throws {
        guard values.isEmpty || sample.hash == hash else {
            throw WorkbenchError("\(group)/\(contender): another result than before")
        }
        hash = sample.hash
        for (name, value) in sample.values { values[name, default: []].append(value) }
    }

    func spread(_ metric: Metric) -> Spread? {
        values[metric.name].map { Spread(values: $0) }
    }
}

struct Driver {
    let options: Options

    private typealias Entry = Turn.Entry

    /// Measures a scenario.
    func run(_ scenario: Scenario) throws -> [CaseResult] {
        let entries = scenario.cases.filter(matches).flatMap { item in
            placements(of: item, scenario).map { Entry(item: item, placement: $0) }
        }
        var results = entries.map { entry in
            CaseResult(
                group: entry.item.group, contender: entry.item.contender,
                placement: entry.placement, operations: operations(entry.item),
                obstacle: entry.item.obstacle())
        }
        guard !results.isEmpty else {
            throw WorkbenchError(usage: "no case of \(scenario.name) is named \(options.filter)")
        }
        let turns = Turn.all(of: entries, scenario)
        for round in 1...options.rounds {
            for turn in turns {
                for _ in 0..<(options.isQuick ? 1 : turn.repetitions) {
                    for index in turn.indices where results[index].obstacle == nil {
                        let name = entries[index].item.name
                        progress("\(scenario.name) round \(round)/\(options.rounds): \(name)")
                        try results[index].add(measure(entries[index], of: scenario))
                    }
                }
            }
        }
        try countSystemCalls(scenario, entries, &results)
        progress("")
        return results
    }

    /// Measures one round in this process, and prints its values.
    func runRound(_ scenario: Scenario) throws {
        guard let item = scenario.cases.first(where: { $0.name == options.filter }) else {
            throw WorkbenchError(usage: "no case of \(scenario.name) is named \(options.filter)")
        }
        var conditions = Conditions()
        conditions.isTraced = options.trace != nil
        conditions.traceFile = scenario.tracesServer ? options.trace : nil
        let sample = try item.measure(operations(item), conditions)
        Console.print("hash \(sample.hash)")
        for (name, value) in sample.values { Console.print("\(value) \(name)") }
    }

    /// The placements, of both, that the table shows.
    private func placements(of item: Case, _ scenario: Scenario) -> [Placement] {
        guard options.placements.count > 1 else { return options.placements }
        let shown = options.placements.filter { placement in
            Goal.all.contains {
                $0.scenario == scenario.name && $0.group == item.group
                    && $0.placement == placement
            }
        }
        return shown.isEmpty ? [.free] : shown
    }

    private func matches(_ item: Case) -> Bool {
        options.filter.isEmpty || item.name.contains(options.filter)
    }

    private func operations(_ item: Case) -> Int {
        options.operations ?? (options.isQuick ? item.quickOperations : item.operations)
    }

    private func measure(_ entry: Entry, of scenario: Scenario) throws -> Sample {
        let count = operations(entry.item)
        guard options.isQuick else {
            return try readRound(runChild(round(entry, of: scenario, count)))
        }
        var conditions = Conditions()
        conditions.isQuick = true
        return try entry.item.measure(count, conditions)
    }

    /// The command that measures one round in a process of its own.
    private func round(
        _ entry: Entry, of scenario: Scenario, _ operations: Int, trace: String? = nil
    ) throws -> ChildCommand {
        var arguments = [
            scenario.name, "--round", "--case", entry.item.name, "--operations", "\(operations)",
        ]
        if entry.placement == .pinned { arguments.append("--pin=\(options.cpu)") }
        if let trace { arguments += ["--trace", trace] }
        var command = ChildCommand(program: try Executable.own(), arguments: arguments)
        if entry.item.hasSystemMalloc {
            // Searched before the libraries that the program is linked with.
            var environment = Program.inheritedEnvironment()
            environment["LD_PRELOAD"] = "libc.so.6"
            command.environment = environment
        }
        return command
    }

    /// Counts system calls by strace: the difference of two rounds of different size.
    ///
    /// strace slows every call down, and so changes the work of one wake-up; counts of single
    /// operations are exact.
    private func countSystemCalls(
        _ scenario: Scenario, _ entries: [Entry], _ results: inout [CaseResult]
    ) throws {
        guard let most = scenario.tracedOperations, options.countsSystemCalls,
            !options.isQuick, (try? Executable.find("strace")) != nil
        else { return }
        let count = min(most, options.operations ?? most)
        let directory = try Directory.createTemporary(prefix: "/tmp/workbench-")
        defer { try? Directory.remove(directory) }
        let file = "\(directory)/strace"
        for (index, entry) in entries.enumerated()
        where results[index].obstacle == nil && entry.item.isTraced {
            progress("\(scenario.name) system calls: \(entry.item.name)")
            var counts: [[String: Int]] = []
            for operations in [count, 6 * count] {
                var command = try round(entry, of: scenario, operations, trace: file)
                if !scenario.tracesServer { command = try Executable.traced(command, to: file) }
                _ = try runChild(command)
                counts.append(try Executable.tracedCounts(in: file))
                try File.remove(file)
            }
            // Where there are next to none, the difference may be negative.
            func perOperation(_ names: Set<String>) -> Double {
                let more = names.reduce(0) { sum, name in
                    sum + counts[1][name, default: 0] - counts[0][name, default: 0]
                }
                return max(0, Double(more) / Double(5 * count))
            }
            results[index].values[Scenario.systemCalls.name] = [perOperation(["total"])]
            for (metric, names) in scenario.tracedCalls {
                results[index].values[metric] = [perOperation(names)]
            }
        }
    }

    private func readRound(_ text: String) throws -> Sample {
        var sample = Sample()
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 1)
            guard words.count == 2 else { throw WorkbenchError("a round printed \(line)") }
            if words[0] == "hash" {
                sample.hash = UInt64(words[1]) ?? 0
            } else {
                sample.values[String(words[1])] = Double(words[0])
            }
        }
        return sample
    }

    private func runChild(_ command: ChildCommand) throws -> String {
        var child = try ChildProcess.spawn(command)
        Interrupts.note(child.processID)
        defer { Interrupts.forget(child.processID) }
        guard let output = child.takeOutput(), let errors = child.takeErrors() else { return "" }
        let text = try output.readEverything("a round's output", atMost: 1 << 20)
        let complaints = try errors.readEverything("a round's errors", atMost: 1 << 20)
        while true {
            switch child.reap() {
            case .exited(0): return String(decoding: text, as: UTF8.self)
            case nil: measure_sleep(1_000_000)
            case .some(let status):
                let words = String(decoding: complaints, as: UTF8.self)
                throw WorkbenchError("a round ended badly (\(status)): \(words)")
            }
        }
    }

    private func progress(_ text: String) {
        guard StandardStream.error.isTerminal else { return }
        // Overwrites the line before, and clears the rest of it.
        Console.complain("\r\(text)\u{1B}[K")
    }
}
