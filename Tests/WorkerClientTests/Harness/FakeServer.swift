// A server that does what a script says: odd replies, hang-ups, silence. It runs on a thread of its
// own, so that it can wait while tests wait for it.

import Glibc
import Kernel
import RESP
import Support
import Synchronization
import WorkerClient

/// One connection of a client with a fake server, confined to the server's thread.
final class FakeSession {
    private let socket: Descriptor
    private var parser = CommandParser(limits: CommandLimits(argumentByteCountMax: 64 << 20))

    init(_ socket: consuming Descriptor) { self.socket = socket }

    /// The client's next command, as text.
    func command() throws -> [String] {
        while true {
            if let request = try parser.next() {
                guard case .command(let command) = request else {
                    throw Unexpected("a command too large")
                }
                return (0..<command.count).map { command.text(at: $0) }
            }
            guard try read() else { throw Unexpected("the client hung up") }
        }
    }

    /// Takes the client's greeting and agrees to version 3.
    func greet() throws {
        let command = try command()
        guard command == ["HELLO", "3"] else { throw Unexpected("no greeting: \(command)") }
        try send("%1\r\n$5\r\nproto\r\n:3\r\n")
    }

    func send(_ text: String) throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            switch try socket.send(rest.span) {
            case .wrote(let count): rest = rest.dropFirst(count)
            case .wouldBlock: try waitUntilReady(socket.number, for: POLLOUT)
            }
        }
    }

    /// Waits until something of the client can be read, and leaves it unread.
    func waitForBytes() throws { try waitUntilReady(socket.number) }

    /// Reads until the client hangs up.
    func expectEnd() throws {
        while true {
            if let request = try parser.next() { throw Unexpected("a command: \(request)") }
            guard try read() else { return }
        }
    }

    /// Reads until the client hangs up, whatever it says before.
    func readToEnd() {
        while (try? command()) != nil {}
    }

    /// - Returns: false at the end.
    private func read() throws -> Bool {
        while true {
            var result = ReadResult.wouldBlock
            do throws(SystemError) {
                try parser.withUninitializedTail(atLeast: 65_536) {
                    (room: inout OutputSpan<UInt8>) throws(SystemError) in
                    result = try socket.read(into: &room)
                }
            } catch {
                // A client that lets go of a connection with unread replies resets it.
                guard error.errno == ECONNRESET else { throw error }
                return false
            }
            switch result {
            case .bytes: return true
            case .end: return false
            case .wouldBlock: try waitUntilReady(socket.number)
            }
        }
    }
}

/// A server whose connections, one after the other, are scripts.
final class FakeServer: Sendable {
    typealias Script = @Sendable (FakeSession) throws -> Void

    private let scratch: Scratch
    private let thread: Mutex<SystemThread?>
    private let fault = Mutex<String?>(nil)
    let address: WorkerAddress

    /// Listens, and does one script for each connection.
    convenience init(_ scripts: Script...) throws { try self.init(scripts) }

    /// Listens, and does one script for each connection.
    init(_ scripts: [Script]) throws {
        let scratch = try Scratch()
        self.scratch = scratch
        let path = scratch.file("s")
        address = .unix(path)
        thread = Mutex(nil)
        let listener = try Listener(at: .unix(UnixAddress(path)))
        let shared = SharedListener(listener)
        let started = try SystemThread(name: "fake") { [weak self] in
            for script in scripts {
                do {
                    let session = FakeSession(try shared.accept())
                    try script(session)
                } catch {
                    self?.note("\(error)")
                    return
                }
            }
        }
        keep(started)
    }

    /// One that answers that an observed job waits, and then hangs up.
    static func breakingOffWatch(of job: Int) throws -> FakeServer {
        try FakeServer(
            { session in try session.greet() },
            { session in
                try session.greet()
                let command = try session.command()
                guard command == ["OBSERVE", "\(job)"] else {
                    throw Unexpected("not asked to observe job \(job): \(command)")
                }
                try session.send(
                    ":1\r\n>4\r\n+job\r\n:\(job)\r\n+waiting\r\n%1\r\n+attempt\r\n:0\r\n")
            })
    }

    private func keep(_ started: consuming SystemThread) {
        var started: SystemThread? = started
        thread.withLock { $0 = started.take() }
    }

    private func note(_ text: String) { fault.withLock { $0 = text } }

    /// Waits until all scripts are done.
    ///
    /// - Throws: what was unexpected for the server.
    func finish() throws {
        let last = thread.withLock { $0.take() }
        last?.join()
        if let fault = fault.withLock({ $0 }) { throw Unexpected("the server: \(fault)") }
    }
}

/// A listener that a closure can hold.
private final class SharedListener: Sendable {
    private let listener: Listener

    init(_ listener: consuming Listener) { self.listener = listener }

    func accept() throws -> Descriptor {
        while true {
            switch try listener.accept() {
            case .connection(let descriptor): return descriptor
            case .wouldBlock: try waitUntilReady(listener.descriptor.number)
            case .outOfDescriptors: throw Unexpected("out of descriptors")
            }
        }
    }
}

/// The client's error that a call throws; nil when it throws nothing.
func clientError(_ body: () throws -> Void) -> WorkerClientError? {
    do {
        try body()
        return nil
    } catch {
        return error as? WorkerClientError
    }
}

/// The first word of an error of the daemon; nil for any other error.
func word(_ error: (any Error)?) -> String? {
    guard case .daemon(let word, _) = error as? WorkerClientError else { return nil }
    return word
}
