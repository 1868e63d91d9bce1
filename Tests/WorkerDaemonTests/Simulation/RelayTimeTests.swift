// How long clients wait at a node that waits itself, on a clock that is moved by hand.

import Jobs
import Kernel
import RESP
import Support
import Testing
import WorkerDaemon

@Suite struct RelayTimeTests {
    private static func node(at address: String) -> SeatHolder {
        .node(
            StoreNode(
                id: 1, name: "a", commands: "redis://\(address)", requests: nil, startedAt: 0,
                serves: true))
    }

    /// Plays a scene with a client of a Unix door that has sent a command.
    private func play(
        _ holder: SeatHolder, _ scene: @escaping @Sendable (World, TestClient) throws -> Void
    ) throws {
        try playScene { world in
            let scratch = try Scratch()
            var configuration = Configuration()
            configuration.listen.unix = scratch.file("s")
            let relay = try SteppedRelay(configuration)
            relay.follow(holder)
            let client = try TestClient(.unix(UnixAddress(scratch.file("s"))))
            try client.send("PING")
            try world.settle()
            try withExtendedLifetime(relay) { try scene(world, client) }
        }
    }

    @Test func `a client waits for ten seconds while no node serves`() throws {
        try play(.nobody) { world, client in
            world.clock.advance(byMilliseconds: 9_999)
            try world.settle()
            #expect(try client.isSilent(forMilliseconds: 0))
            world.clock.advance(byMilliseconds: 1)
            try world.settle()
            let replies = try client.repliesUntilClosed()
            #expect(replies.map(\.errorWord) == ["BUSY"])
        }
    }

    @Test func `a node that refuses connections is tried for ten seconds`() throws {
        let address = try freeLoopbackAddress()
        try play(Self.node(at: address.text)) { world, client in
            for _ in 0..<18 {
                world.clock.advance(byMilliseconds: 500)
                try world.settle()
            }
            #expect(try client.isSilent(forMilliseconds: 0))
            // It listens at last: the client was not forgotten.
            let listener = try Listener(at: address.address)
            world.clock.advance(byMilliseconds: 500)
            try world.settle()
            guard case .connection = try listener.accept() else { throw Unexpected("no client") }
        }
        try play(Self.node(at: address.text)) { world, client in
            for _ in 0..<20 {
                world.clock.advance(byMilliseconds: 500)
                try world.settle()
            }
            #expect(try client.repliesUntilClosed().map(\.errorWord) == ["BUSY"])
        }
    }
}
