// Proves a variable of which every thread has its own.

import Kernel
import RunLoopsTesting
import Support
import Testing

private final class Value: Sendable {
    let trace: Trace
    let name: String

    init(_ name: String, _ trace: Trace) {
        self.name = name
        self.trace = trace
    }

    deinit { trace.note("\(name) gone") }
}

@Suite(.timeLimit(.minutes(2)))
struct ThreadLocalTests {
    @Test func `each thread has its own, and none to begin with`() throws {
        let variable = ThreadLocal<Value>()
        let trace = Trace()
        for name in ["one", "two"] {
            let thread = try SystemThread(name: name) {
                trace.note("\(variable.current == nil)")
                variable.set(Value(name, trace))
                trace.note(variable.current?.name ?? "none")
            }
            thread.join()
        }
        #expect(variable.current == nil)
        #expect(trace.all == ["true", "one", "one gone", "true", "two", "two gone"])
    }

    @Test func `it is kept until its thread has ended, and gone when that was joined`() throws {
        let variable = ThreadLocal<Value>()
        let trace = Trace()
        let gate = Gate()
        let thread = try SystemThread(name: "keeper") {
            variable.set(Value("kept", trace))
            gate.pass()
        }
        gate.reached.wait()
        #expect(trace.all.isEmpty)
        gate.open()
        thread.join()
        #expect(trace.all == ["kept gone"])
    }

    @Test func `it can be told that its thread ends`() throws {
        // SAFETY: the variable's objects are such values; it hands over the reference that it has.
        let variable = unsafe ThreadLocal<Value>(whenThreadEnds: { address in
            guard let address = unsafe address else { return }
            let value = unsafe Unmanaged<Value>.fromOpaque(address).takeRetainedValue()
            value.trace.note("\(value.name) told")
        })
        let trace = Trace()
        let thread = try SystemThread(name: "keeper") { variable.set(Value("kept", trace)) }
        thread.join()
        #expect(trace.all == ["kept told", "kept gone"])
    }

    @Test func `two variables do not mix`() throws {
        let one = ThreadLocal<Value>()
        let two = ThreadLocal<Value>()
        let trace = Trace()
        let thread = try SystemThread(name: "both") {
            one.set(Value("one", trace))
            two.set(Value("two", trace))
            trace.note("\(one.current?.name ?? "") \(two.current?.name ?? "")")
        }
        thread.join()
        #expect(trace.all.first == "one two")
        #expect(Set(trace.all.dropFirst()) == ["one gone", "two gone"])
    }

    @Test func `setting it twice on a thread traps`() async {
        await #expect(processExitsWith: .failure) {
            let variable = ThreadLocal<Value>()
            variable.set(Value("first", Trace()))
            variable.set(Value("second", Trace()))
        }
    }
}
