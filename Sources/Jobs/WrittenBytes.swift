// How much the program of a job has written so far.

/// The counts of bytes that an attempt's program has written, by stream.
package struct WrittenBytes: Sendable, Equatable {
    /// Bytes of standard output.
    package var output = 0
    /// Bytes of standard error.
    package var errors = 0

    /// Nothing written.
    package init() {}
}
