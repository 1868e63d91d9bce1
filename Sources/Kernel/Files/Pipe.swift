// A pair of connected descriptors: what is written to one end is read from the other.

internal import CLinux
internal import Glibc

/// A pipe; both ends are close-on-exec, and none has the number of a standard stream.
package struct Pipe: ~Copyable, Sendable {
    /// Which ends are set non-blocking.
    package enum NonBlocking: Sendable {
        case both
        case readEnd
        case writeEnd
    }

    /// Where bytes come out.
    package let readEnd: Descriptor
    /// Where bytes go in.
    package let writeEnd: Descriptor

    /// Makes a pipe.
    ///
    /// - Parameter nonBlocking: the ends that a loop serves; a child's ends stay blocking, as
    ///   programs expect of their standard streams.
    /// - Throws: EMFILE, ENFILE: out of descriptors.
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: pipe2(2).
    package init(nonBlocking: NonBlocking = .both) throws(SystemError) {
        var ends: [CInt] = [-1, -1]
        try retrying("pipe2") { unsafe pipe2(&ends, O_CLOEXEC) }
        // Both are owned before anything else can fail, or the second would leak.
        let first = Descriptor(owning: ends[0])
        let second = Descriptor(owning: ends[1])
        let readEnd = try first.movedAboveStandardStreams()
        let writeEnd = try second.movedAboveStandardStreams()
        if nonBlocking == .both || nonBlocking == .readEnd { try readEnd.setNonBlocking(true) }
        if nonBlocking == .both || nonBlocking == .writeEnd { try writeEnd.setNonBlocking(true) }
        self.readEnd = readEnd
        self.writeEnd = writeEnd
    }

    /// Keeps one end and closes the other.
    ///
    /// - Thread: the one that owns the pipe.
    package consuming func keepReadEnd() -> Descriptor { readEnd }

    /// Keeps one end and closes the other.
    ///
    /// - Thread: the one that owns the pipe.
    package consuming func keepWriteEnd() -> Descriptor { writeEnd }
}
