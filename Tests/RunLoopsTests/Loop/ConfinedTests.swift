// A value that is opened on its loop's own thread only.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing

@Suite(.timeLimit(.minutes(2)))
struct `Confined value` {
    @Test func `it is there on the loop's own thread`() throws {
        let value = try onNewThread { () -> Int in
            let confined = Confined([1, 2, 3], to: .current)
            return confined.value.count
        }
        #expect(value == 3)
    }

    @Test func `opening it on another thread traps`() async {
        await #expect(processExitsWith: .failure) {
            let confined = Confined(1, to: .current)
            _ = try onNewThread { confined.value }
        }
    }

    @Test func `closing one for another thread's loop traps`() async {
        await #expect(processExitsWith: .failure) {
            let loop = ThreadRunLoop.current
            _ = try onNewThread { Confined(1, to: loop).value }
        }
    }

    @Test func `opening it after its thread has ended traps`() async {
        await #expect(processExitsWith: .failure) {
            let confined = try onNewThread { Confined(1, to: .current) }
            _ = confined.value
        }
    }
}
