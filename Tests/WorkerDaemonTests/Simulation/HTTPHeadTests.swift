// The time limit of an HTTP request's head, on a manual clock.

import Kernel
import Testing
import WorkerDaemon

@Suite struct `A head of HTTP` {
    private static let request = "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test func `has ten seconds from the connection on`() throws {
        try playScene { world in
            let client = try world.connectHTTP()
            try world.settle()
            world.clock.advance(byMilliseconds: 9_999)
            try world.settle()
            #expect(try client.text() == "")
            world.clock.advance(byMilliseconds: 1)
            try world.settle()
            try client.expectEnd()
        }
    }

    @Test func `has ten seconds from its first byte on`() throws {
        try playScene { world in
            let client = try world.connectHTTP()
            try client.send(Self.request)
            try world.settle()
            #expect(try client.text()?.hasSuffix("\r\n\r\nok\n") == true)
            // An idle client may stay.
            world.clock.advance(byMilliseconds: 60_000)
            try world.settle()
            #expect(try client.text() == "")
            try client.send("G")
            try world.settle()
            for byte in Self.request.dropFirst().dropLast() {
                try client.send(String(byte))
                world.clock.advance(byMilliseconds: 400)
                try world.settle()
                if world.clock.milliseconds >= 70_000 { break }
                #expect(try client.text() == "")
            }
            #expect(try client.text()?.hasPrefix("HTTP/1.1 408 ") == true)
            try client.expectEnd()
        }
    }

    @Test func `that is complete is waited for no more`() throws {
        try playScene { world in
            let client = try world.connectHTTP()
            try client.send("GET /readyz HTTP/1.1\r\n")
            try world.settle()
            world.clock.advance(byMilliseconds: 9_000)
            try world.settle()
            try client.send("Host: a\r\n\r\nGET /")
            try world.settle()
            #expect(try client.text()?.hasSuffix("\r\n\r\nok\n") == true)
            world.clock.advance(byMilliseconds: 9_000)
            try world.settle()
            try client.send("readyz HTTP/1.1\r\nHost: a\r\n\r\n")
            try world.settle()
            #expect(try client.text()?.hasSuffix("\r\n\r\nok\n") == true)
        }
    }
}

/// The client's end of a connection to a stepped daemon.
final class SteppedHTTPClient {
    private let socket: Descriptor

    init(_ socket: consuming Descriptor) { self.socket = socket }

    func send(_ text: String) throws { _ = try socket.send(contentsOf: Array(text.utf8)) }

    /// Expects nothing more but the end.
    ///
    /// A program that another test starts at that moment has the daemon's end too, for an instant.
    func expectEnd() throws {
        try eventually("the connection is closed") {
            guard let text = try text() else { return true }
            #expect(text == "")
            return false
        }
    }

    /// The bytes since the last call; nil once the connection is closed.
    func text() throws -> String? {
        var bytes: [UInt8] = []
        while true {
            switch try socket.read(appendingTo: &bytes, atMost: 64 << 10) {
            case .bytes: continue
            case .end: return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
            case .wouldBlock: return String(decoding: bytes, as: UTF8.self)
            }
        }
    }
}

extension World {
    func connectHTTP() throws -> SteppedHTTPClient {
        SteppedHTTPClient(try daemon.connectHTTP())
    }
}
