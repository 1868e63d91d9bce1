// Runs workbench with its arguments.

internal import CMeasure
internal import Dispatch
internal import Kernel

enum Workbench {
    static func run(_ arguments: [String]) throws(WorkbenchError) {
        let options = try Options(arguments)
        if options.isHelp { return Console.print(Options.usage) }
        if options.isList { return list() }
        if let (kind, directory) = options.leastServer {
            return try kind.serve(in: directory)
        }
        let scenarios = try scenarios(options.scenarios)
        Signal.ignoreBrokenPipes()
        let interrupts = Interrupts.passOn()
        defer { withExtendedLifetime(interrupts) {} }
        // Rounds pin themselves; servers and small rounds run on this process's cpu.
        if options.placements == [.pinned], measure_pin(CInt(options.cpu)) != 0 {
            throw WorkbenchError("there is no cpu \(options.cpu) to run on")
        }
        do {
            try measure(scenarios, options)
        } catch let error as WorkbenchError {
            throw error
        } catch {
            throw WorkbenchError("\(error)")
        }
    }

    private static func measure(_ scenarios: [Scenario], _ options: Options) throws {
        let driver = Driver(options: options)
        if options.isRound {
            for scenario in scenarios { try driver.runRound(scenario) }
            return
        }
        var machine = Machine(placement: placement(options))
        let isSilent = options.json == "-"
        if !isSilent { Console.print(machine.description) }
        if let count = options.operations, !isSilent {
            Console.print("\(count) operations in each case, whatever its name says")
        }
        if options.isQuick { Console.complain("small sizes: the figures mean nothing\n") }
        var reports: [Report] = []
        for scenario in scenarios {
            let report = Report(scenario: scenario, results: try driver.run(scenario))
            reports.append(report)
            // A scenario without a place in the table is reported in full.
            let isInTable = Goal.all.contains { $0.scenario == scenario.name }
            if !isSilent, options.hasDetails || !isInTable { Console.print(report.text) }
        }
        machine.loadAfter = Machine.load()
        let scoreboard = Scoreboard(reports)
        if !isSilent {
            Console.print(scoreboard.text)
            Console.print("\nload after: \(machine.loadAfter)")
        }
        if let json = options.json {
            let document = ReportDocument(
                machine: machine, reports: reports, scoreboard: scoreboard)
            let text = try document.encoded()
            if isSilent { Console.print(text) } else { try Console.write(text, to: json) }
        }
        if let chart = options.chart {
            try Console.write(Chart(scoreboard, machine).text, to: chart)
        }
    }

    private static func placement(_ options: Options) -> String {
        switch options.placements {
        case [.free]: "wherever the scheduler puts it"
        case [.pinned]: "everything on cpu \(options.cpu)"
        default: "where the scheduler puts it, and on cpu \(options.cpu)"
        }
    }

    private static func scenarios(_ names: [String]) throws(WorkbenchError) -> [Scenario] {
        var chosen: [Scenario] = []
        for name in names {
            if name == "all" {
                chosen += Scenario.all
            } else if name == "loops" {
                chosen += Scenario.loops
            } else if let scenario = Scenario.all.first(where: { $0.name == name }) {
                chosen.append(scenario)
            } else {
                throw WorkbenchError(usage: "there is no scenario \(name); --list names them")
            }
        }
        return chosen
    }

    private static func list() {
        for scenario in Scenario.all {
            Console.print("\(scenario.name.padded(to: 10))\(scenario.question)")
            for item in scenario.cases { Console.print("        \(item.name)") }
        }
    }
}
