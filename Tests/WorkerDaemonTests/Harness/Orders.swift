// Orders for a handler of the program Obedient: a fifo whose path is the job's payload.

import Glibc
import Kernel
import RESP
import Support

/// The way to a handler that does what it is told.
final class Orders {
    let path: String
    private let fifo: Descriptor

    /// Makes a fifo in a test's directory.
    init(_ name: String, in scratch: Scratch) throws {
        path = scratch.file(name)
        guard unsafe mkfifo(path, 0o600) == 0 else { throw Unexpected("mkfifo: \(errno)") }
        // For reading too: so neither side waits for the other, nor finds an end, before this is
        // gone.
        let number = unsafe open(path, O_RDWR | O_CLOEXEC)
        guard number >= 0 else { throw Unexpected("open \(path): \(errno)") }
        fifo = Descriptor(owning: number)
    }

    /// The payload of the job.
    var payload: CommandArgument { .text(path) }

    /// Tells the handler to do something.
    func give(_ line: String) throws {
        let bytes = Array((line + "\n").utf8)
        guard case .wrote(bytes.count) = try fifo.write(contentsOf: bytes) else {
            throw Unexpected("the fifo is full")
        }
    }
}
