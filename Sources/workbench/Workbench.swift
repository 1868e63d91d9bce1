// What workbench does with its arguments.

internal import CMeasure
internal import Dispatch
internal import Kernel

enum Workbench {
    static func run(_ arguments: [String]) throws(WorkbenchError) {
        let options = try Options(arguments)
        if options.isHelp { return Console.print(Options.usage) }
        if options.isList { return list() }
        let scenarios = try scenarios(options.scenarios)
        Signal.ignoreBrokenPipes()
        let interrupts = Interrupts.passOn()
        defer { withExtendedLifetime(interrupts) {} }
        if options.isPinned, measure_pin(CInt(options.cpu)) != 0 {
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
        var machine = Machine(
            placement: options.isPinned
                ? "everything on cpu \(options.cpu)" : "wherever the scheduler puts it")
        if !options.isJSON { Console.print(machine.description) }
        var reports: [Report] = []
        for scenario in scenarios {
            let report = Report(scenario: scenario, results: try driver.run(scenario))
            reports.append(report)
            if !options.isJSON { Console.print(report.text) }
        }
        machine.loadAfter = Machine.load()
        if options.isJSON {
            Console.print(try ReportDocument(machine: machine, reports: reports).encoded())
        } else {
            Console.print("\nload after: \(machine.loadAfter)")
        }
    }

    private static func scenarios(_ names: [String]) throws(WorkbenchError) -> [Scenario] {
        var chosen: [Scenario] = []
        for name in names {
            if name == "all" {
                chosen += Scenario.all
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
            Console.print("\(scenario.name.padded(to: 6))\(scenario.question)")
            for item in scenario.cases { Console.print("        \(item.name)") }
        }
    }
}
