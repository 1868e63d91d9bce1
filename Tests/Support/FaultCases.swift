// The sample of a proof's many cases, and their number: all of them take minutes, so the tests
// sample, and `Scripts/fault-test` sets FAULTS in its environment.

import Glibc
import Kernel
import Synchronization

/// `Scripts/fault-test` takes each case of this many; nil in the tests.
private let chosenStride = Program.inheritedEnvironment()["FAULTS"].flatMap { Int($0) }
    .map { max(1, $0) }

/// A test takes each case of this many, unless FAULTS says otherwise.
package func takingEach(_ every: Int) -> Int { chosenStride ?? every }

/// The numbers of the cases: a few in the tests, each n-th if FAULTS says so.
package func faultNumbers(orElse few: [Int]) -> any Sequence<Int> {
    guard let chosenStride else { return few }
    return stride(from: 1, to: 10_000, by: chosenStride)
}

/// Prints the number of tried cases on standard output, if FAULTS is set.
///
/// `Scripts/fault-test` adds them up.
package func tellFaultCases(_ count: Int, _ what: String) {
    guard chosenStride != nil else { return }
    print("cases: \(count) \(what)")
    fflush(nil)
}
