// PROTOCOL.md shows the daemon's answers byte for byte.

import RESP
import Support
import Testing

@Suite struct `The document of the protocol` {
    private func text() throws -> String {
        String(decoding: try repositoryFile("PROTOCOL.md"), as: UTF8.self)
    }

    @Test(.timeLimit(.minutes(2)))
    func `shows what the daemon says`() throws {
        let dumps = try Dump.all(in: try text())
        #expect(dumps.count > 30)
        let shared = try DumpPlayer()
        defer { #expect(throws: Never.self) { try shared.end() } }
        for dump in dumps {
            let player = dump.hasOwnDaemon ? try DumpPlayer() : shared
            do {
                for difference in try player.play(dump) {
                    Issue.record("PROTOCOL.md:\(difference.line): \(difference.text)")
                }
                if dump.hasOwnDaemon { try player.end() }
            } catch {
                Issue.record("PROTOCOL.md:\(dump.line): can't be played: \(error)")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `has a section for each command, and for no other`() throws {
        try withDaemon { daemon in
            let names = try daemon.connect().call("COMMAND", "LIST").elements?.compactMap(\.text)
            let lines = try text().split(separator: "\n")
            let titles = lines.filter { $0.hasPrefix("### ") }.map { $0.dropFirst(4).lowercased() }
            #expect(titles.sorted() == names?.sorted())
        }
    }

    @Test func `is compared with as many bytes as a dump says`() throws {
        #expect(try Dump.bytes("a\\\\x21\\r\\n(3 bytes)") == Array("a\\x21\r\nxxx".utf8))
        #expect(throws: Unexpected.self) { try Dump.bytes("\\x21") }
        let (wrong, cut) = (Array("$3\r\nfour\r\n".utf8), Array("*2\r\n:1\r\n".utf8))
        #expect(throws: Unexpected.self) { try ReplyText(startOf: wrong[...]) }
        #expect(try ReplyText(startOf: cut[...]) == nil)
    }

    @Test(arguments: [
        (":1\r\n", ":2\r\n"), ("$2\r\nab\r\n", "=2\r\nab\r\n"), ("_\r\n", "$-1\r\n"),
        ("%1\r\n$6\r\nworker\r\n$6\r\nmail/1\r\n", "%1\r\n$6\r\nworker\r\n$6\r\nimages\r\n"),
        ("*2\r\n$6\r\ndue-at\r\n:17\r\n", "*2\r\n$6\r\ndue-at\r\n$-1\r\n"),
        ("-BUSY 1 waits, its limit; try later\r\n", "-BUSY 2 wait, its limit; try later\r\n"),
    ])
    func `is told from what the daemon does not say`(one: String, other: String) throws {
        let one = try #require(try ReplyText(startOf: Array(one.utf8)[...]))
        let other = try #require(try ReplyText(startOf: Array(other.utf8)[...]))
        #expect(one.compared != other.compared)
    }
}
