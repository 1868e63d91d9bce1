// Sessions with TLS on a manual clock: how long a handshake may take, how many go on in a pass of
// the loop, and bytes that OpenSSL holds while the loop would sleep.

import Kernel
import RESP
import Support
import TLS
import Testing
import WorkerDaemon

@Suite struct `A session with TLS` {
    @Test func `has ten seconds for its handshake`() throws {
        let (server, client) = (try TLSContext.testServer(), try TLSContext.testClient())
        for isHTTP in [false, true] {
            try playScene { world in
                let silent = try SteppedTLSClient(world, server, client, isHTTP: isHTTP)
                let slow = try SteppedTLSClient(world, server, client, isHTTP: isHTTP)
                let good = try SteppedTLSClient(world, server, client, isHTTP: isHTTP)
                let count = world.daemon.sessionCount
                try good.shakeHands(world)
                try slow.begin()
                try world.settle()
                world.clock.advance(byMilliseconds: 9_999)
                try world.settle()
                #expect(world.daemon.sessionCount == count)
                if isHTTP {
                    // From here on the head has its own ten seconds.
                    try good.send("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")
                } else {
                    try good.send("PING\r\n")
                }
                try world.settle()
                #expect(try !good.text().isEmpty)
                world.clock.advance(byMilliseconds: 1)
                try world.settle()
                #expect(world.daemon.sessionCount == count - 2)
                // A program that another test starts just now may hold their sockets for a moment.
                for late in [silent, slow] {
                    try eventually("it is closed") { try late.isClosed() }
                }
                #expect(try !good.isClosed())
            }
        }
    }

    @Test func `goes on with its handshake with seven others in a pass`() throws {
        let (server, client) = (try TLSContext.testServer(), try TLSContext.testClient())
        try playScene { world in
            let clients = try (1...20).map { _ in try SteppedTLSClient(world, server, client) }
            try world.settle()
            for client in clients { try client.begin() }
            var counts: [Int] = []
            var isIdle = false
            while !isIdle {
                isIdle = try !world.servePass()
                // An answered client has the server's part of the handshake to read.
                counts.append(clients.count { $0.isReadable })
            }
            let steps = zip(counts, [0] + counts).map { $0 - $1 }.filter { $0 > 0 }
            #expect(steps == [8, 8, 4], "\(counts)")
            for client in clients { try client.shakeHands(world) }
            for client in clients { try client.send("PING\r\n") }
            try world.settle()
            for client in clients { #expect(try client.text() == "+PONG\r\n") }
        }
    }

    /// OpenSSL holds the end when the commands before it are read, and the socket has nothing more.
    @Test func `sees the end that came in one piece with commands`() throws {
        let (server, client) = (try TLSContext.testServer(), try TLSContext.testClient())
        try playScene { world in
            let client = try SteppedTLSClient(world, server, client)
            try client.shakeHands(world)
            #expect(world.daemon.sessionCount == 2)
            try client.send("PING\r\nPING\r\n")
            client.endSending()
            try world.settle()
            #expect(try client.text() == "+PONG\r\n+PONG\r\n")
            #expect(world.daemon.sessionCount == 1)
        }
    }

    @Test func `executes all commands, however they fall into records and reads`() throws {
        let (server, client) = (try TLSContext.testServer(), try TLSContext.testClient())
        try playScene { world in
            let client = try SteppedTLSClient(world, server, client)
            try client.shakeHands(world)
            for count in stride(from: 10_900, to: 22_000, by: 307) {
                // In one piece before the daemon looks.
                try client.send(String(repeating: "PING\r\n", count: count), in: world)
                var text = ""
                repeat {
                    try world.settle()
                    let more = try client.text()
                    if more.isEmpty { break }
                    text += more
                } while true
                #expect(text.utf8.count == 7 * count, "\(count)")
            }
        }
    }

    @Test func `takes a half done handshake for no client`() throws {
        let (server, client) = (try TLSContext.testServer(), try TLSContext.testClient())
        try playScene { world in
            let half = try SteppedTLSClient(world, server, client)
            try half.begin()
            try world.settle()
            half.hangUp()
            try world.settle()
            #expect(world.daemon.sessionCount == 1)
            let other = try SteppedTLSClient(world, server, client)
            try other.sendRaw("PING\r\nPING\r\n")
            try world.settle()
            #expect(world.daemon.sessionCount == 1)
        }
    }
}

/// The client's end of a connection with TLS to a stepped daemon.
private final class SteppedTLSClient {
    private let socket: Descriptor
    private let tls: TLSConnection
    private static let recordByteCount = 9_973

    init(
        _ world: World, _ server: TLSContext, _ client: TLSContext, isHTTP: Bool = false
    ) throws {
        let socket = try world.daemon.connectTLS(server, isHTTP: isHTTP)
        tls = try TLSConnection(client: client, socket, toServer: "localhost")
        self.socket = socket
    }

    var isReadable: Bool { isReady(socket.number, within: 0) }

    /// Sends the first part of the handshake.
    func begin() throws { try tls.shakeHands() }

    func shakeHands(_ world: World) throws {
        for _ in 0..<10 where !tls.isEstablished {
            try tls.shakeHands()
            try world.settle()
        }
        #expect(tls.isEstablished)
    }

    func send(_ text: String) throws { _ = try tls.write(Array(text.utf8).span) }

    /// Sends a text that may be larger than the socket takes, in records of a prime size.
    func send(_ text: String, in world: World) throws {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let end = min(bytes.count, sent + Self.recordByteCount)
            switch try tls.write(bytes.span.extracting(sent..<end)) {
            case .wrote(let count): sent += count
            case .wouldBlock: _ = try world.servePass()
            }
        }
    }

    func sendRaw(_ text: String) throws { _ = try socket.send(contentsOf: Array(text.utf8)) }

    /// Says that it will send nothing more, but leaves the socket open.
    func endSending() { tls.shutdownWriting() }

    func hangUp() { try? socket.shutdownWriting() }

    /// The text since the last call.
    func text() throws -> String {
        var bytes: [UInt8] = []
        while true {
            let count = bytes.count
            try bytes.append(addingCapacity: 64 << 10) {
                (room: inout OutputSpan<UInt8>) throws(TLSError) in
                _ = try tls.read(into: &room)
            }
            if bytes.count == count { return String(decoding: bytes, as: UTF8.self) }
        }
    }

    func isClosed() throws -> Bool {
        guard isReadable else { return false }
        var bytes: [UInt8] = []
        while true {
            switch try socket.read(appendingTo: &bytes, atMost: 64 << 10) {
            case .bytes: continue
            case .end: return true
            case .wouldBlock: return false
            }
        }
    }
}
