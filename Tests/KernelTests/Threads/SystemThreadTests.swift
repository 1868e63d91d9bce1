// Proves threads of the operating system: a name, a body, an end that can be waited for.

import Glibc
import Kernel
import RunLoopsTesting
import Support
import Testing

/// The calling thread's name, as the kernel knows it.
private func currentName() -> String {
    let text = try? File.read("/proc/thread-self/comm", atMost: 64)
    return String(decoding: (text ?? []).filter { $0 != 10 }, as: UTF8.self)
}

@Suite(.timeLimit(.minutes(2)))
struct SystemThreadTests {
    @Test func `its body has run when join returns`() throws {
        let trace = Trace()
        let thread = try SystemThread(name: "body") { trace.note("run") }
        thread.join()
        #expect(trace.all == ["run"])
    }

    @Test(arguments: [
        ("short", "short"), ("exactly fifteen", "exactly fifteen"),
        ("one more than 15", "one more than 1"), ("", ""), ("fourteen bytesü", "fourteen bytes"),
        ("thirteen bytü", "thirteen bytü"), ("tief im Baum 🌳", "tief im Baum "),
    ])
    func `its name is what the kernel shows, cut to the characters in fifteen bytes`(
        name: String, shown: String
    ) throws {
        let seen = try onNewThread(named: name) { currentName() }
        #expect(seen == shown)
    }

    @Test func `one that is let go of runs to its end`() throws {
        let ended = Latch()
        let gate = Gate()
        do {
            _ = try SystemThread(name: "detached") {
                gate.pass()
                ended.open()
            }
        }
        gate.open()
        ended.wait()
    }

    @Test(arguments: [1, 64 << 10, 1 << 20])
    func `its stack may be small, and is never too small to run`(byteCount: Int) throws {
        let trace = Trace()
        let thread = try SystemThread(name: "small", stackByteCount: byteCount) {
            trace.note("\((0..<100).map { "\($0)" }.joined().utf8.count)")
        }
        thread.join()
        #expect(trace.all == ["190"])
    }

    private func onNewThread(
        named name: String, _ body: @escaping @Sendable () -> String
    ) throws -> String? {
        let trace = Trace()
        let thread = try SystemThread(name: name) { trace.note(body()) }
        thread.join()
        return trace.all.first
    }
}
