// Answers of the scheduler in histories that were written down, one for each promise and each fault
// that was found.
//
// `RECORD_HISTORIES=1 swift test --filter Histories` writes down what it says now.

import Jobs
import Kernel
import Testing

@Suite struct Histories {
    private static var directory: String {
        let file = #filePath
        return file.prefix(file.count - "Scheduler/HistoryTests.swift".count) + "Histories"
    }

    private static let names =
        (try? Directory.names(in: directory))?.filter { $0.hasSuffix(".txt") }
        .sorted() ?? []

    @Test func `are there`() { #expect(Self.names.count >= 12) }

    @Test(arguments: names)
    func `go as they were written down`(name: String) throws {
        let path = "\(Self.directory)/\(name)"
        let written = String(decoding: try File.read(path, atMost: 1 << 20), as: UTF8.self)
        let played = try Transcript.play(written)
        if Program.inheritedEnvironment()["RECORD_HISTORIES"] == "1" {
            return try File.write(Array(played.utf8), to: path, mode: 0o644)
        }
        #expect(played == written)
    }
}
