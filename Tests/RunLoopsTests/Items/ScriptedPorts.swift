// Ports on a scripted kernel, as several suites make them.

import Glibc
import Kernel
import RunLoops
import RunLoopsTesting
import Testing

/// A port on a descriptor that the scripted kernel alone knows.
func scripted(
    _ descriptor: CInt, _ name: String, _ trace: Trace, order: Int = 0,
    also: @escaping @Sendable (ThreadRunLoop.Port) -> Void = { _ in }
) -> ThreadRunLoop.Port {
    ThreadRunLoop.Port(watching: descriptor, order: order) { port, readiness in
        trace.note("\(name) \(readiness.rawValue)")
        also(port)
    }
}

func add(
    _ port: ThreadRunLoop.Port, to loop: ThreadRunLoop, mode: ThreadRunLoop.Mode = .default
) {
    #expect(throws: Never.self) { try loop.add(port, to: mode) }
}
