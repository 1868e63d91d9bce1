// Plays dumps against the real daemon, configured as the protocol's document says.

import Kernel
import RESP
import Support

/// A client and its daemon.
final class DumpPlayer {
    /// A reply that is not what the document says.
    struct Difference {
        let line: Int
        let text: String
    }

    /// Where the document says that the daemon's files are.
    private static let documentedDirectory = "/etc/workerd"
    private static let password = "secret"
    private static let setup = Setup(
        threads: "images: {}, mail: { count: 2 }, ledger: { maxQueued: 2 }",
        selectors: """
            shout: { program: ["tr", "a-z", "A-Z"] },
            slow: { program: ["sleep", "10"], timeout: "100ms" },
            steps: { program: ["$DIR/steps"] },
            jams: { program: ["sh", "-c", "echo half a page; echo jam >&2; exit 1"] },
            resize: { worker: true }
            """,
        limits: "payload: \"64KB\"", store: Setup.memory,
        more: "users: \"$DIR/users\", node: { name: \"jobs-1\" },")
    private static let users = [
        TestUser(
            "viewer", ["observe"], payloads: false, "threads: [\"images\"]",
            secret: String(repeating: "5f0c", count: 16))
    ]
    /// The program `steps`: it goes on when it is told to, so that no step is left out.
    private static let steps = """
        #!/bin/sh
        while read -r line; do
            if [ "$line" = end ]; then exit; fi
            echo "$line" >&3
        done <"$0.orders"

        """

    private var daemon: TestDaemon
    private var passwordDoor: SocketAddress
    private var orders: Orders
    private var observer: TestClient

    init() throws {
        let scratch = try Scratch()
        try scratch.writeProgram(Self.steps, to: "steps")
        try scratch.writeUsers(Self.users)
        orders = try Orders("steps.orders", in: scratch)
        let address: String
        (address, passwordDoor) = try freeLoopbackAddress()
        var setup = Self.setup
        setup.listen = try scratch.passwordDoor(at: address, password: Self.password)
        daemon = try TestDaemon(setup, in: scratch)
        observer = try daemon.connect()
    }

    /// Ends the daemon.
    ///
    /// - Throws: if it has ended by itself, and not as after `SHUTDOWN`.
    func end() throws {
        if !daemon.isRunning {
            let status = try daemon.end()
            guard status == "exit status 0" else { throw Unexpected(status) }
        }
        daemon.kill()
    }

    /// Plays a dump; throws when it can't be played on.
    func play(_ dump: Dump) throws -> [Difference] {
        let client =
            dump.isAtPasswordDoor ? try TestClient(passwordDoor) : try daemon.connect()
        for command in dump.commands {
            try client.send(text: command + "\r\n")
            let reply = try client.reply()
            if let word = reply.errorWord { throw Unexpected("\(command): \(word)") }
        }
        var differences: [Difference] = []
        var unread: [UInt8] = []
        for (line, step) in dump.steps {
            do {
                switch step {
                case .send(let bytes): try client.send(bytes)
                case .endSending: try client.endSending()
                case .begins(let id):
                    // It may not have been accepted yet: no reply was waited for.
                    try eventually("job \(id) runs") {
                        try observer.call("JOB", .integer(id))["state"]?.text == "running"
                    }
                case .rewrites(let section): try daemon.rewrite(section: section)
                case .closed:
                    while let more = try client.bytes() { unread += more }
                case .expect(let bytes):
                    let text = try compare(bytes, with: client, &unread)
                    if let text { differences.append(Difference(line: line, text: text)) }
                }
            } catch {
                differences.append(Difference(line: line, text: "\(error)"))
                return differences
            }
        }
        if !unread.isEmpty {
            let text = "more than is shown:\n\(Dump.text(unread))"
            differences.append(Difference(line: dump.line, text: text))
        }
        return differences
    }

    /// - Returns: what the daemon says in its place; nil if it says that.
    private func compare(
        _ expected: [UInt8], with client: TestClient, _ unread: inout [UInt8]
    ) throws -> String? {
        var rest = expected[...]
        var isSame = true
        var said: [UInt8] = []
        while !rest.isEmpty {
            guard let next = try ReplyText(startOf: rest) else {
                throw Unexpected("the document's reply is cut off, or one of its lengths is wrong")
            }
            rest = rest.dropFirst(next.byteCount)
            if let step = next.lastBody, let match = step.wholeMatch(of: /step ([0-9]+)/) {
                try orders.give("\(match.1)% \(step)")
            }
            var found = try ReplyText(startOf: unread[...])
            while found == nil {
                guard let more = try client.bytes() else {
                    throw Unexpected("the connection ends here:\n\(Dump.text(said + unread))")
                }
                unread += more
                found = try ReplyText(startOf: unread[...])
            }
            guard let found else { break }
            unread.removeFirst(found.byteCount)
            if found.lastBody == "step 100" { try orders.give("end") }
            let moved = found.moved(from: daemon.scratch.path, to: Self.documentedDirectory)
            said += moved.bytes
            if moved.compared != next.compared { isSame = false }
        }
        return isSame ? nil : "the daemon says\n\(Dump.text(said))"
    }
}
