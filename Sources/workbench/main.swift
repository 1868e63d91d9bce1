// The measuring program's entry point.

internal import Glibc
internal import Memory

Allocator.link()
do {
    try Workbench.run(Array(CommandLine.arguments.dropFirst()))
} catch {
    Console.complain("workbench: \(error)\n")
    exit(error.exitStatus)
}
