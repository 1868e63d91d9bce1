// The mark in front of a connection that a node passes on, as any client may send it.

import Glibc
import Kernel
import RESP
import Support
import TLS
import Testing

@Suite struct RelayMarkTests {
    private static let mark = [0] + Array("workerd relay/1".utf8)

    private func withDoor(_ body: (TestDaemon, SocketAddress) throws -> Void) throws {
        let scratch = try Scratch()
        let door = try freeLoopbackAddress()
        let setup = Setup(
            listen: try scratch.passwordDoor(at: door.text, password: "secret"),
            store: Setup.memory)
        let daemon = try TestDaemon(setup, in: scratch)
        defer { daemon.kill() }
        try daemon.check { try body(daemon, door.address) }
    }

    @Test func `is read in any pieces, and gives no right`() throws {
        try withDoor { _, door in
            for size in [1, 7, Self.mark.count] {
                let client = try TestClient(door)
                for start in stride(from: 0, to: Self.mark.count, by: size) {
                    try client.send(Array(Self.mark[start..<min(start + size, Self.mark.count)]))
                }
                #expect(try client.call("PING").errorWord == "NOAUTH")
                #expect(try client.call("AUTH", "secret").text == "OK")
                #expect(try client.call("PING").text == "PONG")
            }
        }
    }

    @Test func `comes with the first command in one piece`() throws {
        try withDoor { _, door in
            let client = try TestClient(door)
            try client.send(Self.mark + TestClient.bytes(["AUTH", "secret"]))
            #expect(try client.reply().text == "OK")
        }
    }

    @Test func `closes the connection if it is another one`() throws {
        try withDoor { daemon, door in
            let client = try TestClient(door)
            try client.send([0] + Array("workerd relay/2 and more".utf8))
            #expect(try client.repliesUntilClosed().isEmpty)
            // A part of one, and the end.
            let other = try TestClient(door)
            try other.send(Array(Self.mark.prefix(5)))
            try other.endSending()
            #expect(try other.repliesUntilClosed().isEmpty)
            #expect(try daemon.connect().call("PING").text == "PONG")
        }
    }

    @Test func `means nothing at a Unix door`() throws {
        try withDoor { daemon, _ in
            let client = try daemon.connect()
            try client.send(Self.mark + Array("\r\n".utf8))
            #expect(try client.reply().errorWord == "ERR")
        }
    }

    @Test func `comes before TLS`() throws {
        try withTLSDoors { _, door, _ in
            let socket = try door.connect(timeoutMilliseconds: patienceMilliseconds)
            try socket.write(everything: Self.mark)
            try socket.setNonBlocking(true)
            let tls = try TLSConnection(client: .testClient(), socket, toServer: "localhost")
            while !tls.isEstablished {
                try tls.shakeHands()
                if tls.isEstablished { break }
                let need = tls.handshakeNeed == .readable ? POLLIN : POLLOUT
                try waitUntilReady(socket.number, for: need)
            }
            #expect(tls.isEstablished)
        }
    }
}
