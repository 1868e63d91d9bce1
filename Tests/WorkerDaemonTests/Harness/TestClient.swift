// A client that blocks, for tests: raw bytes or commands out, replies in, each wait with a bound.

import Glibc
import Kernel
import RESP
import Support
import TLS

/// A connection to a daemon under test.
final class TestClient {
    private let socket: Descriptor
    /// TLS on the socket; nil for plaintext.
    let tls: TLSConnection?
    private var parser = ReplyParser()
    /// Whether the daemon has closed the connection.
    private(set) var isClosed = false

    /// - Parameter context: of TLS, with a server that is `localhost` by its certificate; nil for
    ///   plaintext.
    init(_ address: SocketAddress, _ context: TLSContext? = nil) throws {
        let socket = try address.connect(timeoutMilliseconds: patienceMilliseconds)
        try socket.setNonBlocking(true)
        tls = try context.map { try TLSConnection(client: $0, socket, toServer: "localhost") }
        self.socket = socket
        while let tls, !tls.isEstablished {
            try tls.shakeHands()
            if tls.isEstablished { break }
            try waitUntilReady(
                self.socket.number, for: tls.handshakeNeed == .readable ? POLLIN : POLLOUT)
        }
    }

    /// Sends once.
    private func write(_ bytes: [UInt8], from offset: Int) throws -> WriteResult {
        if let tls { return try tls.write(bytes.span.extracting(offset...)) }
        return try socket.send(contentsOf: bytes, from: offset)
    }

    /// Reads once.
    private func read(into room: inout OutputSpan<UInt8>) throws(TLSError) -> ReadResult {
        if let tls { return try tls.read(into: &room) }
        do throws(SystemError) {
            return try socket.read(into: &room)
        } catch {
            // The daemon closed it with something of ours unread.
            if error.errno == ECONNRESET { return .end }
            throw .system(error)
        }
    }

    /// Where it is itself.
    func ownAddress() throws -> SocketAddress? { try SocketAddress.bound(socket) }

    /// Sends bytes as they are.
    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            switch try write(bytes, from: sent) {
            case .wrote(let count): sent += count
            case .wouldBlock:
                guard isReady(socket.number, for: POLLOUT, within: patienceMilliseconds) else {
                    throw Unexpected("the daemon takes no more than \(sent) bytes")
                }
            }
        }
    }

    func send(text: String) throws { try send(Array(text.utf8)) }

    /// Sends as much as the daemon takes within a while, and reads no replies.
    ///
    /// - Returns: how many bytes those were; all of them, or it stopped reading.
    func sendUntilRefused(_ bytes: [UInt8], quietMilliseconds: Int) -> Int {
        var sent = 0
        while sent < bytes.count {
            guard let result = try? write(bytes, from: sent) else { return sent }
            if case .wrote(let count) = result {
                sent += count
            } else if !isReady(socket.number, for: POLLOUT, within: quietMilliseconds) {
                return sent
            }
        }
        return sent
    }

    /// Sends a command.
    func send(_ arguments: CommandArgument...) throws {
        try send(Self.bytes(arguments))
    }

    /// A command as bytes.
    static func bytes(_ arguments: [CommandArgument]) -> [UInt8] {
        var bytes: [UInt8] = []
        CommandWriter.write(arguments, to: &bytes)
        return bytes
    }

    /// Sends a command and waits for its reply.
    func call(_ arguments: CommandArgument...) throws -> RESPValue {
        try send(Self.bytes(arguments))
        return try reply()
    }

    /// Sends commands in one piece and waits for their replies.
    ///
    /// A daemon executes what it has read in one go: no timer of it fires between these.
    func callTogether(_ commands: [CommandArgument]...) throws -> [RESPValue] {
        try send(commands.flatMap(Self.bytes))
        return try commands.map { _ in try reply() }
    }

    /// Waits for the next reply.
    func reply() throws -> RESPValue {
        while true {
            if let value = try parser.next() { return value }
            guard try receive() else { throw Unexpected("the connection ended before the reply") }
        }
    }

    /// Whether no reply is there and none comes within a while.
    func isSilent(forMilliseconds milliseconds: Int = 50) throws -> Bool {
        if let value = try parser.next() { throw Unexpected("a reply is there: \(value)") }
        return !isReady(socket.number, for: POLLIN, within: milliseconds)
    }

    /// All replies up to the end of the connection.
    func repliesUntilClosed() throws -> [RESPValue] {
        var replies: [RESPValue] = []
        while true {
            while let value = try parser.next() { replies.append(value) }
            guard try receive() else { return replies }
        }
    }

    /// Says that nothing more will be sent; replies can still be read.
    func endSending() throws {
        tls?.shutdownWriting()
        try socket.shutdownWriting()
    }

    /// Waits for bytes of the daemon and takes them as they are, without parsing replies.
    ///
    /// - Returns: nil when the daemon has closed the connection.
    func bytes() throws -> [UInt8]? {
        var bytes: [UInt8] = []
        while !isClosed {
            var result = ReadResult.wouldBlock
            try bytes.append(addingCapacity: 64 << 10) {
                (room: inout OutputSpan<UInt8>) throws(TLSError) in result = try read(into: &room)
            }
            switch result {
            case .bytes: return bytes
            case .end: isClosed = true
            case .wouldBlock:
                guard isReady(socket.number, for: POLLIN, within: patienceMilliseconds) else {
                    throw Unexpected("nothing within \(patienceMilliseconds) ms")
                }
            }
        }
        return nil
    }

    /// - Returns: false when the daemon has closed the connection.
    private func receive() throws -> Bool {
        while !isClosed {
            var result = ReadResult.wouldBlock
            try parser.withUninitializedTail(atLeast: 64 << 10) {
                (room: inout OutputSpan<UInt8>) throws(TLSError) in result = try read(into: &room)
            }
            switch result {
            case .bytes: return true
            case .end: isClosed = true
            case .wouldBlock:
                guard isReady(socket.number, for: POLLIN, within: patienceMilliseconds) else {
                    throw Unexpected("no reply within \(patienceMilliseconds) ms")
                }
            }
        }
        return false
    }
}

extension TestClient {
    /// The number of a job that was accepted.
    func perform(_ arguments: CommandArgument...) throws -> Int {
        try send(Self.bytes(["PERFORM"] + arguments))
        let value = try reply()
        guard case .integer(let id) = value else { throw Unexpected("no job number: \(value)") }
        return id
    }

    /// A value of JOB's answer.
    func job(_ id: Int, _ key: String) throws -> RESPValue {
        let job = try call("JOB", .integer(id))
        guard let value = job[key] else { throw Unexpected("no \(key) in \(job)") }
        return value
    }

    /// Waits until a job has come to a state.
    func waitUntil(_ id: Int, is state: String) throws {
        try eventually("job \(id) is \(state)") { try job(id, "state").text == state }
    }

    /// Pauses a thread and waits until it runs nothing: what is tried again stays where it is.
    func pauseAndWait(_ thread: CommandArgument) throws {
        _ = try call("PAUSE", thread)
        try eventually("\(thread) is paused") {
            try call("THREAD", thread)["state"]?.text == "paused"
        }
    }

    /// A figure of INFO.
    func figure(_ name: String) throws -> Int {
        let text = try call("INFO").text ?? ""
        for line in text.split(separator: "\r\n") where line.hasPrefix("\(name):") {
            if let number = Int(line.dropFirst(name.utf8.count + 1)) { return number }
        }
        throw Unexpected("no \(name) in INFO")
    }
}
