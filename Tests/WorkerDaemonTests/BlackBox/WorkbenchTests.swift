// The measuring program in a small size, so that it cannot rot unseen. Nothing is judged by time.

import Kernel
import Support
import Testing

@Suite struct `The workbench` {
    /// What the programs were linked with, as `Package.swift` has it for this build.
    private static var allocator: String {
        #if MIMALLOC
            "memory: mimalloc "
        #else
            "memory: the system's malloc"
        #endif
    }

    @Test(
        .timeLimit(.minutes(20)),
        arguments: ["post", "wake", "pingpong", "submit", "timers", "lateness", "idle"])
    func `runs each scenario in a small size`(scenario: String) throws {
        let text = try output(of: [scenario])
        #expect(text.contains("CFRunLoop"))
        #expect(text.contains("goals reached"))
        // Where a block of malloc's lies, not what was asked for in the build.
        #expect(text.contains(Self.allocator))
    }

    @Test(.timeLimit(.minutes(20)))
    func `hands durable jobs to a daemon that it kills, starts again and stops`() throws {
        let text = try output(of: ["durable", "--case", "/ours"])
        for row in ["floor", "64: accepted", "executed and recorded", "SIGTERM to exit"] {
            #expect(text.contains(row))
        }
        #expect(text.contains("goals reached"))
    }

    @Test(.timeLimit(.minutes(20)), arguments: ["least server", "least SQLite server"])
    func `hands jobs to the least that a server can be`(server: String) throws {
        let text = try output(of: ["durable", "--case", "/\(server)", "--details"])
        #expect(text.contains("accepted, per second\n      \(server)"))
    }

    private func output(of scenario: [String]) throws -> String {
        let command = ChildCommand(
            program: "\(try productsDirectory())/workbench", arguments: scenario + ["--quick"],
            environment: environmentOfNoService())
        var child = try ChildProcess.spawn(command)
        child.closeInput()
        guard let output = child.takeOutput() else { throw Unexpected("its output was taken") }
        let bytes = try output.readEverything("the workbench's output", atMost: 1 << 20)
        _ = isReady(child.endDescriptor.number, for: 1, within: patienceMilliseconds)
        #expect(child.reap() == .exited(0))
        return String(decoding: bytes, as: UTF8.self)
    }
}
