// Needs of every test here: files in a directory of its own, and the place of the package's
// programs. It knows nothing of the daemon.

import Kernel
import Support

/// A directory for a test's files.
typealias Scratch = TestDirectory

extension Scratch {
    func write(_ bytes: [UInt8], to name: String) throws -> String {
        try File.write(bytes, to: file(name), mode: File.ownerOnly)
        return file(name)
    }
}

/// A program of this package, beside the running test bundle.
func product(_ name: String) throws -> String { "\(try productsDirectory())/\(name)" }
