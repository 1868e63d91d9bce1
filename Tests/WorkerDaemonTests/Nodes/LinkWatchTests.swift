// Nodes that look after their links: which one is not reached, and why.

import Jobs
import Kernel
import RESP
import Support
import Testing

@testable import WorkerDaemon

@Suite struct `The watch over links` {
    /// Lets time pass until the links from `a` to `b` have a state.
    ///
    /// - Parameter isHurried: whether time passes also while a link is being tried.
    /// - Returns: how much time has passed, in milliseconds.
    @discardableResult
    private func wait(
        _ nodes: LinkedNodes, isHurried: Bool = false, _ isSo: (LinkWatch.State?) -> Bool
    ) throws -> Int {
        var (last, milliseconds): (LinkWatch.State?, Int) = (nil, 0)
        do {
            try eventually("another state") {
                last = try nodes.linkState(0, to: 1)
                if isSo(last) { return true }
                if try isHurried || !nodes.areLinksTried() {
                    nodes.advance(by: .milliseconds(100))
                    milliseconds += 100
                }
                return false
            }
        } catch {
            throw Unexpected("the state stays \(String(describing: last))")
        }
        return milliseconds
    }

    @discardableResult
    private func waitForFault(
        _ nodes: LinkedNodes, _ reason: String, isHurried: Bool = false
    ) throws -> Int {
        try wait(nodes, isHurried: isHurried) {
            if case .fails(let found) = $0 { found.contains(reason) } else { false }
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `tells of a node that is not reached any more, and again`(hasTLS: Bool) throws {
        try withLinkedNodes(tls: hasTLS ? [.door(), .door()] : [], watches: true) { nodes in
            try wait(nodes) { $0 == .works }
            #expect(nodes.log.lines(with: "passed on to node").isEmpty)
            // The tries are no clients that stay.
            try eventually("the try has left") { try nodes.sessionCount(1) == 0 }
            let address = try nodes.address(1)
            try nodes.closeDoors(1)
            try waitForFault(nodes, "connect \(address): Connection refused")
            do {
                let silent = try Listener(at: address)
                try waitForFault(nodes, "it does not answer", isHurried: true)
                withExtendedLifetime(silent) {}
            }
            try waitForFault(nodes, "connect \(address): Connection refused")
            // Once, with the first reason.
            let lines = nodes.log.lines(with: "commands are not passed on to node b: ")
            #expect(lines.count == 1)
            #expect(lines.first?.hasPrefix("<4>") == true)
            #expect(lines.first?.contains("Connection refused") == true)
            try nodes.openDoors(1)
            try wait(nodes) { $0 == .works }
            #expect(nodes.log.lines(with: "commands are passed on to node b again").count == 1)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `asks again when a client was not served`() throws {
        try withLinkedNodes(watches: true) { nodes in
            try wait(nodes) { $0 == .works }
            try nodes.closeDoors(1)
            let client = try nodes.connect(0)
            try client.send("PERFORM", "two", "echo", "x")
            try client.waitForBusy(nodes, "node b is not reached")
            // Without the client, it would be tried after a minute.
            #expect(try waitForFault(nodes, "Connection refused") < 10_000)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `tells of an address that is another node's`() throws {
        try withLinkedNodes(3, watches: true) { nodes in
            try wait(nodes) { $0 == .works }
            for twin in [0, 2] {
                let url = "redis://\(try nodes.address(twin))"
                try nodes.describe(1) { $0.commands = url }
                try nodes.own([:])
                try waitForFault(
                    nodes,
                    "not the secret of the node's links: node \(LinkedNodes.names[twin]) has told "
                        + "the same address")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `tells of a node without an address, and of one that refuses the secret`() throws {
        try withLinkedNodes(watches: true) { nodes in
            try nodes.describe(1) { $0.commands = nil }
            try nodes.own([:])
            try waitForFault(nodes, "set node.address there")
            let url = "redis://\(try nodes.door(1))"
            try nodes.describe(1) {
                $0.commands = url
                $0.linkSecret = "of a run before"
            }
            try nodes.own([:])
            try waitForFault(nodes, "this is not the secret of the node's links")
            try nodes.describe(1) { $0.linkSecret = "secret of 1" }
            try nodes.own([:])
            try wait(nodes) { $0 == .works }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `tells of a certificate that is another one`() throws {
        try withLinkedNodes(tls: [.none, .door()], watches: true) { nodes in
            try wait(nodes) { $0 == .works }
            try nodes.describe(1) { $0.certificate?.fingerprint = "0" }
            try nodes.own([:])
            try waitForFault(nodes, "shows another certificate")
        }
    }
}
