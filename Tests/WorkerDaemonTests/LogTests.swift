// Lines of the log: what clients put into them, and how many they can cause.

import RunLoops
import RunLoopsTesting
import Support
import Synchronization
import Testing
import WorkerDaemon

@Suite struct `The log` {
    /// The written lines.
    private final class Written: Sendable {
        private let bytes = Mutex<[UInt8]>([])

        func log() -> Log {
            Log(level: .debug, isForJournal: true) { [self] line in
                bytes.withLock { $0 += line }
            }
        }

        var text: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }
    }

    @Test(arguments: [
        ("a\u{1B}[31mb", "a\\x1b[31mb"), ("a\u{202E}b", "a\\u{202e}b"),
        ("a\u{9B}b", "a\\x9bb"), ("a\rb", "a\\x0db"), ("ä 線", "ä 線"),
    ])
    func `shows controls of terminals as escapes`(text: String, shown: String) {
        let written = Written()
        written.log().notice(text)
        #expect(written.text == "<5>\(shown)\n")
    }

    @Test func `has a level and a line for each line of a message`() {
        let written = Written()
        written.log().warning("one\ntwo\n")
        #expect(written.text == "<4>one\n<4>two\n")
    }

    @Test func `has the first event at once, and one line a minute of those that follow`() throws {
        let written = Written()
        let lines = try withScriptedLoop { loop, poller in
            let warning = RareWarning(on: loop, written.log()) { "\($0) of \($1)" }
            warning.happened(from: "a")
            for _ in 0..<1_000 { warning.happened(from: "b") }
            var lines = [written.text]
            // Something to run for, though no warning has a timer any more.
            loop.add(ThreadRunLoop.Timer(at: loop.now.advanced(by: .seconds(1_000))) { _ in })
            _ = loop.run(for: .seconds(59))
            lines.append(written.text)
            warning.happened(from: "c")
            _ = loop.run(for: .seconds(141))
            lines.append(written.text)
            // The minute after that line had no event.
            warning.happened(from: "d")
            return lines + [written.text]
        }
        let first = "<4>1 of a\n"
        let second = first + "<4>1001 of c\n"
        #expect(lines == [first, first, second, second + "<4>1 of d\n"])
    }
}
