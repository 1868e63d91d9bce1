// A part of the daemon that hangs is found and named, on a manual clock.

import Support
import Testing
import WorkerDaemon

@Suite struct `A part that hangs` {
    private static let request = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"

    /// Looks at the health of a daemon after five seconds.
    private func expect(_ word: String, _ hang: @escaping @Sendable (World) throws -> Void) throws {
        try playScene { world in
            try hang(world)
            let client = try world.connectHTTP()
            try client.send(Self.request + Self.request)
            try world.settle()
            #expect(try client.text() == "")
            world.clock.advance(byMilliseconds: 4_999)
            try world.settle()
            #expect(try client.text() == "")
            world.clock.advance(byMilliseconds: 1)
            try world.settle()
            let text = try client.text() ?? ""
            #expect(text.split(separator: "HTTP/1.1 503 ").count == 2)
            #expect(text.hasSuffix("\r\n\r\n\(word)\n"))
        }
    }

    @Test func `is found if it is the main thread`() throws {
        try expect("main") { $0.daemon.hangMain() }
    }

    @Test func `is found if it is the store's thread`() throws {
        try expect("store") { try $0.holdStore() }
    }

    /// Counts the signs of life before a part hangs, and the further ones.
    private func expectSilence(_ hang: @escaping @Sendable (World) throws -> Void) throws {
        try playScene { world in
            let signs = Counter()
            world.daemon.startHeartbeat(every: .seconds(1)) { signs.increment() }
            for second in 1...3 {
                try world.settle()
                #expect(signs.count == second)
                world.clock.advance(byMilliseconds: 1_000)
            }
            try world.settle()
            try hang(world)
            for _ in 1...3 {
                world.clock.advance(byMilliseconds: 1_000)
                try world.settle()
            }
            #expect(signs.count == 4)
        }
    }

    @Test func `ends the signs of life if it is the main thread`() throws {
        try expectSilence { $0.daemon.hangMain() }
    }

    @Test func `ends the signs of life if it is the store's thread`() throws {
        try expectSilence { try $0.holdStore() }
    }

    @Test func `is forgotten when it goes on`() throws {
        try playScene { world in
            try world.holdStore()
            let client = try world.connectHTTP()
            try client.send(Self.request)
            try world.settle()
            world.clock.advance(byMilliseconds: 5_000)
            try world.settle()
            #expect(try client.text()?.hasSuffix("\r\n\r\nstore\n") == true)
            world.releaseStore()
            try world.settle()
            try client.send(Self.request)
            try world.settle()
            #expect(try client.text()?.hasSuffix("\r\n\r\nok\n") == true)
        }
    }
}
