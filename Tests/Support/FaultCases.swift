// Which of the many cases of a proof are taken, and how many were: all of them take minutes, so the
// tests sample, and `Scripts/fault-test` takes what FAULTS in its environment says.

import Glibc
import Kernel
import Synchronization

/// Of how many cases `Scripts/fault-test` wants one; nil in the tests.
private let chosenStride = Program.inheritedEnvironment()["FAULTS"].flatMap { Int($0) }
    .map { max(1, $0) }

/// Of how many cases a test takes one: of this many, unless FAULTS says otherwise.
package func takingEach(_ every: Int) -> Int { chosenStride ?? every }

/// The numbers of the cases that are taken: a few in the tests, each n-th if FAULTS says so.
package func faultNumbers(orElse few: [Int]) -> any Sequence<Int> {
    guard let chosenStride else { return few }
    return stride(from: 1, to: 10_000, by: chosenStride)
}

/// Says on standard output how many cases were tried, if FAULTS asks for them.
///
/// `Scripts/fault-test` adds them up.
package func tellFaultCases(_ count: Int, _ what: String) {
    guard chosenStride != nil else { return }
    print("cases: \(count) \(what)")
    fflush(nil)
}
