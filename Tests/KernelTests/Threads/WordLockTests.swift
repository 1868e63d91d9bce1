// Proves the lock of four bytes; the tests of its users prove the state that it guards.

import CRefusals
import Glibc
import Kernel
import Support
import Testing

private final class Guarded: Sendable {
    let lock = WordLock()
}

@Suite(.timeLimit(.minutes(2)))
struct WordLockTests {
    @Test func `a wait that the kernel refuses stops the program with a word`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let guarded = Guarded()
            guarded.lock.lock()
            let other = try SystemThread(name: "other") {
                if refusals_refuse(refusals_futex(), EPERM) < 0 { exit(EXIT_SUCCESS) }
                guarded.lock.lock()
            }
            other.join()
        }
        let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(text.contains("futex wait failed with errno 1"))
    }
}
