// Hands the bytes of libFuzzer to one target. Scripts/fuzz builds it.

import CFuzzer
import Fuzzing
import Glibc

private let target: FuzzTarget = {
    let name = unsafe getenv("WORKERD_FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
        let known = FuzzTarget.allCases.map(\.rawValue).joined(separator: ", ")
        fatalError("WORKERD_FUZZ_TARGET must be one of \(known), is '\(name)'")
    }
    return target
}()

/// The main function, under the name that the package manager has for it.
@_cdecl("ProgramFuzz_main")
public func runFuzzer(
    _ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
) -> CInt {
    var (count, arguments) = (count, unsafe arguments)
    return unsafe LLVMFuzzerRunDriver(&count, &arguments) { start, count in
        target.read(unsafe Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
}
