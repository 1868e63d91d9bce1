// What every test here needs of the machine: a directory of its own, waiting with a bound, and the
// place of the package's programs. It knows nothing of the daemon.

import Glibc
import Kernel
import Support

/// What a test waited for did not happen, or something else did.
struct Unexpected: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A directory for a test's files.
typealias Scratch = TestDirectory

extension Scratch {
    func write(_ bytes: [UInt8], to name: String) throws -> String {
        try File.write(bytes, to: file(name), mode: File.ownerOnly)
        return file(name)
    }
}

/// Waits until a descriptor is ready, far longer than anything here takes.
func waitUntilReady(_ number: CInt, for events: Int32 = POLLIN) throws {
    let patienceMilliseconds: CInt = 120_000
    var request = pollfd(fd: number, events: CShort(events), revents: 0)
    while true {
        let count = unsafe poll(&request, 1, patienceMilliseconds)
        if count < 0 && errno == EINTR { continue }
        guard count == 1 else { throw Unexpected("nothing happens on descriptor \(number)") }
        return
    }
}

/// A program of this package, beside the running test bundle.
func product(_ name: String) throws -> String { "\(try productsDirectory())/\(name)" }
