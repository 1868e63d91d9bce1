// A program whose main thread runs a run loop: what a test runner, whose main thread is not its
// own, can't be. It plays one scenario on our loop or on CoreFoundation's and prints what happened.
//
//     ProgramMainQueue ours|theirs SCENARIO

import Foundation
import RunLoopsTesting
import Support

let arguments = CommandLine.arguments
guard arguments.count == 3, let play = scenarios[arguments[2]] else {
    print("usage: \(arguments[0]) ours|theirs \(scenarios.keys.sorted().joined(separator: "|"))")
    exit(64)
}
let trace = Trace()
play(arguments[1] == "theirs" ? CoreFoundationLoop(trace) : OurLoop(trace), trace)
for word in trace.all { print(word) }
