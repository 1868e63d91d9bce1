// The end of a process as an event of a loop.

public import Kernel

/// Tells a loop's thread of a process's end, once.
///
/// For a child of this process that something else started, be it `posix_spawn` or another library.
/// A child is collected before the handler is called, so nothing else may wait for it: Foundation's
/// `Process`, which does, has a `terminationHandler` of its own. For other processes the handler
/// learns that they ended, and not how.
///
/// Keep the port until then: its loop does not. Once the last reference to it is gone it is
/// invalid; the process is left alone.
///
/// ```swift
/// let end = try ProcessPort(processID: child) { status in print("the child: \(status)") }
/// try end.add(to: .current)
/// ```
///
/// - Source: pidfd_open(2), waitid(2).
public final class ProcessPort: Sendable {
    private let port: ThreadRunLoop.Port
    /// The process's number.
    public let processID: Int

    /// The object that only the port's handler holds: the descriptor is closed once the port has
    /// left its loop.
    private final class Watched: Sendable {
        let process: ProcessDescriptor

        init(_ process: consuming ProcessDescriptor) { self.process = process }
    }

    /// A port that is in no loop yet.
    ///
    /// - Parameters:
    ///   - processID: a running process, or a child that has ended and was not collected.
    ///   - order: smaller ones are handled first among ports ready in the same pass.
    ///   - handler: called once, on the loop's thread, when the process has ended; the port is
    ///     invalid by then.
    ///   - fileID: the caller's file, told of its calls while its loop is measured.
    ///   - line: the caller's line.
    /// - Throws: ESRCH when there is no such process; EMFILE, ENFILE or ENOMEM when there is no
    ///   room for its descriptor.
    /// - Thread: any thread.
    /// - Blocks: never.
    public init(
        processID: Int, order: Int = 0, handler: @escaping @Sendable (ChildStatus) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SystemError) {
        self.processID = processID
        let watched = Watched(try ProcessDescriptor(processID))
        port = ThreadRunLoop.Port(
            watching: watched.process.descriptor.number, order: order,
            handler: { port, _ in
                guard let status = watched.process.collect() else { return }
                port.invalidate()
                handler(status)
            }, fileID: fileID, line: line)
    }

    deinit { port.invalidate() }

    /// Puts the port into a mode of a loop.
    ///
    /// - Throws: ENOMEM, ENOSPC or EMFILE when the kernel has no room.
    /// - Thread: the loop's own thread.
    /// - Blocks: never.
    public func add(
        to loop: ThreadRunLoop, mode: ThreadRunLoop.Mode = .default
    ) throws(SystemError) {
        try loop.add(port, to: mode)
    }

    /// Takes the port out of its modes for good.
    ///
    /// - Thread: any thread; on the loop's own thread the handler is not called any more.
    /// - Blocks: never.
    public func invalidate() { port.invalidate() }

    /// Whether the end is still to come.
    ///
    /// - Thread: any thread.
    public var isValid: Bool { port.isValid }
}
