// The referee finds what it is for: a loop with a fault differs in one of the first programs.

import Kernel
import Support
import Testing

@Suite(.serialized) struct `A loop with a fault` {
    @Test(.timeLimit(.minutes(20)))
    func `differs from CoreFoundation's in some program`() throws {
        try check(ObserversReversed.self)
        try check(SourcesReversed.self)
        try check(ObserversRepeat.self)
        try check(CommonIgnored.self)
        try check(RemovalIgnored.self)
        try check(DateIgnored.self)
    }

    private func check<Its: Fault>(_ fault: Its.Type) throws {
        for seed in UInt64(1)...300 {
            var generator = Generator(seed: seed)
            let program = generator.program()
            let comparison = try Comparison.of(program, on: MutantMachine<Its>.self)
            guard comparison.difference != nil else { continue }
            print("referee: \(fault) is found by seed \(seed)")
            return
        }
        Issue.record("no program shows that \(fault) is wrong")
    }

    private func text(_ path: String) throws -> String {
        String(decoding: try repositoryFile(path), as: UTF8.self)
    }

    @Test func `is kept as a change that can still be made`() throws {
        // The mutants of the run loop, and those of the daemon.
        let mutants = try ["Tests/Mutants", "Tests/Mutants/Daemon"].flatMap { folder in
            try Directory.names(in: "\(repositoryDirectory)/\(folder)")
                .filter { $0.hasSuffix(".patch") }.map { "\(folder)/\($0)" }
        }
        #expect(mutants.count > 12)
        for path in mutants {
            let lines = try text(path).split(separator: "\n", omittingEmptySubsequences: false)
            let file = try #require(lines.first { $0.hasPrefix("--- a/") }).dropFirst(6)
            // The old text: the lines of the change that are not new.
            let hunk = lines.drop { !$0.hasPrefix("@@") }
            let parts = hunk.split { $0.hasPrefix("@@") }.map { part in
                part.filter { !$0.hasPrefix("+") && !$0.isEmpty }.map { $0.dropFirst() + "\n" }
                    .joined()
            }
            let source = try text(String(file))
            for part in parts {
                let isThere = source.contains(part)
                #expect(isThere, "\(path) changes lines that \(file) no longer has")
            }
        }
    }
}
