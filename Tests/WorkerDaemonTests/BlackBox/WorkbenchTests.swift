// Proves that the bench measures and judges, in a small size. Nothing is judged by time.

import Kernel
import Support
import Testing

@Suite struct `The workbench` {
    /// The allocator that the programs were linked with, as `Package.swift` has it for this build.
    private static var allocator: String {
        #if MIMALLOC
            "memory: mimalloc "
        #else
            "memory: the system's malloc"
        #endif
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: ["post", "wake", "pingpong", "submit", "timers", "lateness", "idle"])
    func `measures each scenario in a small size`(scenario: String) throws {
        let text = try output(of: [scenario])
        // The allocator in use, not the one that the build asked for.
        #expect(text.contains(Self.allocator))
        let table = try Table(text)
        #expect(table.contenders.contains("CFRunLoop"))
        table.expectSound()
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            ("lateness", "early"), ("idle", "1,000 idle: switches"), ("idle", "descriptors"),
        ])
    func `judges a figure that no load of the machine changes`(
        scenario: String, title: String
    ) throws {
        let row = try Table(output(of: [scenario])).row(title)
        #expect(row.ours == "0")
        #expect(row.isReached == true)
    }

    @Test(.timeLimit(.minutes(2)))
    func `hands durable jobs to a daemon that it kills, starts again and stops`() throws {
        let table = try Table(output(of: ["durable", "--case", "/ours"]))
        table.expectSound()
        let titles = [
            "1 client × 1: accepted", "1 client × 64: accepted", "32 clients × 1: accepted",
            "executed and recorded", "kill -9, start: job accepted", "SIGTERM to exit",
        ]
        for title in titles { #expect(try table.row(title).ours != "0", "\(title)") }
        let early = try table.row("delayed job: early")
        #expect(early.ours == "0")
        #expect(early.isReached == true)
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["least server", "least SQLite server"])
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

/// The table that the bench prints: a row for each figure of ours.
private struct Table {
    struct Row {
        let title: String
        let ours: String
        /// Whether the goal is reached; nil without a goal that could be judged.
        let isReached: Bool?
    }

    let contenders: [String]
    let rows: [Row]
    /// The last line: how many goals are reached, and of how many.
    let summary: String

    /// Finds the table in the bench's output; its columns are at least two blanks apart.
    init(_ text: String) throws {
        let lines = text.split(separator: "\n").map(String.init)
        let heads = lines.indices.first { lines[$0].contains("ours [min–max]") }
        let end = lines.firstIndex { $0.hasSuffix(" goals reached") }
        guard let heads, let end, heads < end else { throw Unexpected("no table: \(text)") }
        contenders = Self.cells(lines[heads])
        rows = try lines[(heads + 1)..<end].map { line in
            let cells = Self.cells(line)
            guard cells.count > 1 else { throw Unexpected("half a row: \(line)") }
            let judgement = ["yes": true, "NO": false][cells[cells.count - 1]]
            let ours = cells[1].prefix { $0 != " " }
            return Row(title: cells[0], ours: String(ours), isReached: judgement)
        }
        summary = lines[end]
    }

    private static func cells(_ line: String) -> [String] {
        var cells = [""]
        var blankCount = 0
        for character in line.drop(while: { $0 == " " }) {
            if character == " " {
                blankCount += 1
                continue
            }
            if blankCount > 1 { cells.append("") }
            if blankCount == 1 { cells[cells.count - 1].append(" ") }
            blankCount = 0
            cells[cells.count - 1].append(character)
        }
        return cells
    }

    func row(_ title: String) throws -> Row {
        guard let row = rows.first(where: { $0.title.hasPrefix(title) }) else {
            throw Unexpected("no row \(title) among \(rows.map(\.title))")
        }
        return row
    }

    /// Expects figures in all rows, and that the last line counts the judgements above it.
    func expectSound() {
        #expect(!rows.isEmpty)
        // Memory may be less than before.
        for row in rows {
            #expect(row.ours.drop { $0 == "-" }.first?.isNumber == true, "\(row)")
        }
        let judged = rows.compactMap(\.isReached)
        #expect(summary == "\(judged.count { $0 }) of \(judged.count) goals reached")
    }
}
