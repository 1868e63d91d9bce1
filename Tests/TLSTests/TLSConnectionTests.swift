// Connections with TLS: both ends of ours in one process.

import Kernel
import Support
import TLS
import Testing

@Suite struct `A connection with TLS` {
    @Test func `carries bytes both ways after the handshake`() throws {
        let pair = try TLSPair()
        #expect(try pair.server.read(atMost: 10).result == .wouldBlock)
        try pair.shakeHands()
        #expect(pair.client.tls.version == "TLSv1.3")
        #expect(pair.server.tls.peerSubject == nil)
        #expect(pair.client.tls.peerSubject == "/CN=server")
        #expect(try pair.client.write(Array("PING".utf8)) == .wrote(4))
        #expect(try pair.server.read(atMost: 10).bytes == Array("PING".utf8))
        #expect(try pair.server.write(Array("+PONG\r\n".utf8)) == .wrote(7))
        // Tickets come first.
        var answer: [UInt8] = []
        while answer.count < 7 { answer += try pair.client.read(atMost: 10).bytes }
        #expect(answer == Array("+PONG\r\n".utf8))
        #expect(try pair.server.read(atMost: 10).result == .wouldBlock)
        #expect(try pair.server.write([]) == .wrote(0))
    }

    @Test func `tells of the bytes that it holds and the socket does not`() throws {
        let pair = try TLSPair()
        try pair.shakeHands()
        #expect(try pair.server.read(atMost: 1).result == .wouldBlock)
        #expect(!pair.server.tls.holdsInput)
        let bytes = (0..<3_000).map { UInt8(truncatingIfNeeded: $0) }
        #expect(try pair.client.write(bytes) == .wrote(3_000))
        var read: [UInt8] = []
        for _ in 0..<29 {
            read += try pair.server.read(atMost: 100).bytes
            #expect(pair.server.tls.holdsInput)
            #expect(!pair.server.isReadable)
        }
        read += try pair.server.read(atMost: 100).bytes
        #expect(read == bytes)
        if pair.server.tls.holdsInput {
            #expect(try pair.server.read(atMost: 100).result == .wouldBlock)
        }
        #expect(!pair.server.tls.holdsInput)
    }

    @Test func `ends in order, also behind bytes`() throws {
        let pair = try TLSPair()
        try pair.shakeHands()
        #expect(try pair.client.write([1, 2, 3]) == .wrote(3))
        pair.client.tls.shutdownWriting()
        #expect(try pair.server.read(atMost: 10).bytes == [1, 2, 3])
        #expect(pair.server.tls.holdsInput)
        #expect(try pair.server.read(atMost: 10).result == .end)
        #expect(try pair.server.read(atMost: 10).result == .end)
        // The other direction goes on.
        #expect(try pair.server.write([4]) == .wrote(1))
        var answer: [UInt8] = []
        while answer.isEmpty { answer = try pair.client.read(atMost: 10).bytes }
        #expect(answer == [4])
    }

    @Test func `ends when the other end hangs up without a word`() throws {
        let pair = try TLSPair()
        try pair.shakeHands()
        try pair.client.socket.shutdownWriting()
        #expect(try pair.server.read(atMost: 10).result == .end)
        #expect(try pair.server.write([4]) == .wrote(1))
    }

    @Test func `writes a part when the socket is full, and goes on from another address`() throws {
        let pair = try TLSPair()
        try pair.shakeHands()
        let bytes = (0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 * 31) }
        var sent = 0
        var received: [UInt8] = []
        var wasFull = false
        while received.count < bytes.count {
            if sent < bytes.count {
                // A copy each time.
                switch try pair.server.write(Array(bytes[sent...])) {
                case .wrote(let count): sent += count
                case .wouldBlock: wasFull = true
                }
            }
            received += try pair.client.read(atMost: 100_000).bytes
        }
        #expect(wasFull)
        #expect(received == bytes)
    }

    /// Bytes are cut into records, reads and writes at random, and arrive as they were sent.
    @Test(arguments: 1...6) func `keeps bytes in order however they are cut`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let pair = try TLSPair()
        try pair.shakeHands()
        var ways = [
            Way(from: pair.client, to: pair.server), Way(from: pair.server, to: pair.client),
        ]
        for _ in 0..<2_000 {
            let index = random.below(2)
            if ways[index].queue.count < 200_000 {
                let isFew = random.chance(50)
                ways[index].append(random.bytes(1 + random.below(isFew ? 50 : 40_000)))
            }
            try ways[index].write(atMost: 1 + random.below(60_000))
            let isFew = random.chance(50)
            try ways[index].read(atMost: 1 + random.below(isFew ? 20 : 30_000))
        }
        for index in 0...1 {
            while ways[index].received.count < ways[index].expected.count {
                try ways[index].write(atMost: .max)
                try ways[index].read(atMost: 70_000)
            }
            #expect(ways[index].received == ways[index].expected)
        }
    }

    @Test func `writes chunks as if they were one`() throws {
        let pair = try TLSPair()
        try pair.shakeHands()
        let chunks: [[UInt8]] = [[1, 2, 3], [], [4], Array(repeating: 5, count: 20_000)]
        #expect(try pair.server.tls.write(chunks[...], from: 1) == .wrote(20_003))
        var received: [UInt8] = []
        while received.count < 20_003 { received += try pair.client.read(atMost: 30_000).bytes }
        #expect(received == Array(chunks.joined().dropFirst()))
    }

    @Test(arguments: ["PING\r\n", "GET / HTTP/1.1\r\n\r\n", "*1\r\n$4\r\nPING\r\n"])
    func `is refused to plaintext`(text: String) throws {
        let pair = try TLSPair()
        let bytes = Array(text.utf8)
        #expect(try pair.client.socket.send(contentsOf: bytes) == .wrote(bytes.count))
        #expect(pair.faults().server == .plaintext)
    }

    @Test func `is none with an end that hangs up`() throws {
        let pair = try TLSPair()
        try pair.client.tls.shakeHands()
        try pair.client.socket.shutdownWriting()
        #expect(pair.faults().server == .hungUp)
    }

    @Test func `trusts no other authority, name or time`() throws {
        let authority = try TestAuthority.shared()
        let other = try TLSPair(client: .testClient(try TestAuthority()))
        #expect(Self.text(other.faults().client).contains("certificate verify failed"))
        #expect(Self.text(other.faults().server).contains("unknown ca"))
        let elsewhere = try TLSPair(name: "jobs.example")
        #expect(Self.text(elsewhere.faults().client).contains("hostname mismatch"))
        let address = try TLSPair(name: "127.0.0.2")
        #expect(Self.text(address.faults().client).contains("IP address mismatch"))
        let expired = try TLSContext.testServer(try authority.issue("old", days: -1))
        let late = try TLSPair(server: expired)
        #expect(Self.text(late.faults().client).contains("certificate has expired"))
        try TLSPair(name: "127.0.0.1").shakeHands()
    }

    @Test func `asks for the client's certificate where one is required`() throws {
        let authority = try TestAuthority.shared()
        let own = try authority.issue("client", for: "DNS:anyone")
        let strict = try TLSContext.testServer(
            authorities: authority.certificate, requiresClient: true)
        let with = try TLSPair(server: strict, client: .testClient(nil, own))
        try with.shakeHands()
        #expect(with.server.tls.peerSubject == "/CN=client")
        let without = try TLSPair(server: strict).faults()
        #expect(Self.text(without.server).contains("peer did not return a certificate"))
        #expect(Self.text(without.client).contains("certificate required"))
        let stranger = try TestAuthority().issue("client")
        let wrong = try TLSPair(server: strict, client: .testClient(nil, stranger)).faults()
        #expect(Self.text(wrong.server).contains("certificate verify failed"))

        let lenient = try TLSContext.testServer(authorities: authority.certificate)
        try TLSPair(server: lenient).shakeHands()
        try TLSPair(server: lenient, client: .testClient(nil, own)).shakeHands()
        let forged = try TLSPair(server: lenient, client: .testClient(nil, stranger)).faults()
        #expect(Self.text(forged.server).contains("certificate verify failed"))
    }

    @Test func `pinned to a certificate trusts it whatever its authority, name and time`() throws {
        let issued = try TestAuthority().issue("old", for: "DNS:elsewhere", days: -1)
        let server = try TLSContext.testServer(issued)
        let pin = try #require(server.fingerprint)
        let digest = try ProgramRun(
            "/bin/sh",
            ["-c", "openssl x509 -in \(issued.certificate) -outform DER | sha256sum"])
        #expect(digest.output.hasPrefix("\(pin) "), "\(digest.output)")
        let pair = try TLSPair(server: server, client: TLSContext(), pin: pin)
        try pair.shakeHands()
        #expect(try pair.client.write([1, 2]) == .wrote(2))
        #expect(try pair.server.read(atMost: 10).bytes == [1, 2])
    }

    @Test func `pinned to a certificate sends nothing to another one`() throws {
        let (server, other) = (try TLSContext.testServer(), try TLSContext.testServer())
        let pair = try TLSPair(server: server, client: TLSContext(), pin: other.fingerprint)
        let fault = TLSError.otherCertificate(fingerprint: try #require(server.fingerprint))
        #expect(pair.faults().client == fault)
        #expect(!pair.client.tls.isEstablished)
        #expect(throws: fault) { try pair.client.write([1]) }
        #expect(throws: fault) { try pair.client.read(atMost: 1) }
    }

    @Test func `trusts nobody if it is neither pinned nor told an authority`() throws {
        let pair = try TLSPair(client: TLSContext())
        #expect(Self.text(pair.faults().client).contains("certificate verify failed"))
    }

    private static func text(_ error: TLSError?) -> String { error.map { "\($0)" } ?? "no fault" }
}

/// One direction of a connection: the bytes that wait, that have to arrive, that have arrived.
private struct Way {
    let from: TLSEnd
    let to: TLSEnd
    var queue: [UInt8] = []
    var expected: [UInt8] = []
    var received: [UInt8] = []
    /// Bytes that were offered and not taken: the next write has to offer them again.
    private var offeredCount = 0

    init(from: TLSEnd, to: TLSEnd) {
        self.from = from
        self.to = to
    }

    mutating func append(_ bytes: [UInt8]) {
        queue += bytes
        expected += bytes
    }

    mutating func write(atMost count: Int) throws {
        let piece = Array(queue.prefix(max(count, offeredCount)))
        guard !piece.isEmpty else { return }
        offeredCount = piece.count
        guard case .wrote(let count) = try from.write(piece) else { return }
        queue.removeFirst(count)
        offeredCount -= count
    }

    mutating func read(atMost count: Int) throws { received += try to.read(atMost: count).bytes }
}
