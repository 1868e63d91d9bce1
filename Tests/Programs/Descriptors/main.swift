// A program that plays one scenario in which it matters which descriptors are open. A process with
// tests can't be it: a thread of Dispatch's opens some of its own, whenever it likes.
//
//     ProgramDescriptors SCENARIO
//
// Ends with status 0 if all was right, and else with 1.

import Glibc

let arguments = CommandLine.arguments
guard arguments.count == 2, let play = scenarios[arguments[1]] else {
    print("usage: \(arguments[0]) \(scenarios.keys.sorted().joined(separator: "|"))")
    exit(64)
}
do {
    exit(try play() ? EXIT_SUCCESS : EXIT_FAILURE)
} catch {
    print(error)
    exit(EXIT_FAILURE)
}
