// The real `workerd`, started for one test in a directory of its own and ended with it.

import Glibc
import Kernel
import Support
import WorkerClient

/// A running daemon; letting go of it kills it.
final class TestDaemon {
    let scratch: Scratch
    private var child: ChildProcess

    /// Starts a daemon with the threads `images` and `mail/1`, `mail/2`, and waits until it
    /// listens.
    ///
    /// - Parameters:
    ///   - listen: what `listen` has beside the Unix socket.
    ///   - store: where jobs are kept.
    ///   - selectors: further selectors, each with a comma.
    ///   - more: further sections, each with a comma.
    init(
        listen: String = "", in scratch: Scratch? = nil, store: String = "memory",
        selectors: String = "", more: String = ""
    ) throws {
        let scratch = try scratch ?? Scratch()
        self.scratch = scratch
        let text = """
            {
                listen: { unix: "\(scratch.file("s"))", \(listen) },
                store: "\(store)",
                threads: { images: {}, mail: { count: 2, maxQueued: 2 } },
                selectors: {
                    shout: { program: ["/usr/bin/tr", "a-z", "A-Z"] }, \(selectors)
                },
                log: { level: "notice" },
                \(more)
            }
            """
        let file = try scratch.write(Array(text.utf8), to: "workerd.json5")
        var child = try ChildProcess.spawn(
            ChildCommand(
                program: product("workerd"), arguments: ["--config", file],
                environment: environmentOfNoService()))
        child.closeInput()
        guard let errors = child.takeErrors() else { throw Unexpected("no standard error") }
        self.child = consume child
        try Self.waitUntilListening(on: scratch.file("s"), errors)
        // No writer may ever wait for room in the pipe.
        let drain = Drain(errors)
        _ = try SystemThread(name: "log") { drain.run() }
    }

    var socket: String { scratch.file("s") }
    var address: WorkerAddress { .unix(socket) }

    /// Waits until it has ended by itself.
    ///
    /// - Returns: how: `exit status 0`.
    func end() throws -> String {
        try waitUntilReady(child.endDescriptor.number)
        return child.reap().map { "\($0)" } ?? "it runs"
    }

    /// Ends it at once.
    func kill() throws {
        try child.signalGroup(.kill)
        _ = try end()
    }

    private static func waitUntilListening(
        on socket: String, _ errors: borrowing Descriptor
    ) throws {
        var log: [UInt8] = []
        while true {
            let text = String(decoding: log, as: UTF8.self)
            if text.contains("listening on \(socket)\n") { return }
            switch try errors.read(appendingTo: &log, atMost: 4_096) {
            case .bytes: continue
            case .wouldBlock: try waitUntilReady(errors.number)
            case .end: throw Unexpected("workerd ended at once: \(text)")
            }
        }
    }
}

/// Reads and drops the bytes of a pipe, until its writer has ended.
private final class Drain: Sendable {
    private let descriptor: Descriptor

    init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

    func run() {
        var bytes: [UInt8] = []
        while let result = try? descriptor.read(appendingTo: &bytes, atMost: 65_536), result != .end
        {
            bytes.removeAll(keepingCapacity: true)
            guard result == .wouldBlock else { continue }
            var request = pollfd(fd: descriptor.number, events: CShort(POLLIN), revents: 0)
            _ = unsafe poll(&request, 1, -1)
        }
    }
}
