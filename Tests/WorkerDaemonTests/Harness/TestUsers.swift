// Users of a daemon under test: a users file with their secrets, and connections as each of them.

import Kernel
import RESP
import Support
import Testing
import WorkerDaemon

/// A user of a test's users file.
struct TestUser {
    let name: String
    let roles: [String]
    let seesPayloads: Bool
    /// Further keys, such as `threads: ["mail"]`.
    let more: String
    let secrets: [String]

    var secret: String { secrets[0] }

    init(
        _ name: String, _ roles: [String], payloads: Bool = true, _ more: String = "",
        secret: String? = nil
    ) {
        self.init(
            name, roles, payloads: payloads, more, secrets: [secret ?? "the secret of \(name)"])
    }

    init(
        _ name: String, _ roles: [String], payloads: Bool = true, _ more: String = "",
        secrets: [String]
    ) {
        (self.name, self.roles, seesPayloads) = (name, roles, payloads)
        (self.more, self.secrets) = (more, secrets)
    }

    /// Its section of the file.
    var text: String {
        let digests = secrets.map { SecretDigest(of: Array($0.utf8)).hexadecimal }
        return """
            "\(name)": { roles: \(roles), payloads: \(seesPayloads), secrets: \(digests),
                \(more) }
            """
    }
}

extension Scratch {
    /// Writes the users file, which others may not read.
    func writeUsers(_ users: [TestUser], mode: UInt32 = 0o600) throws {
        let sections = users.map(\.text).joined(separator: ",\n")
        try write("{ users: { \(sections) } }", to: "users")
        try File.setMode(mode, of: file("users"))
    }
}

/// A daemon with users, and with HTTP at a Unix socket and over TCP.
struct UserDoors {
    let daemon: TestDaemon
    /// Where HTTP is spoken over TCP.
    let address: SocketAddress

    /// A connection as a user.
    func connect(as user: TestUser) throws -> TestClient {
        let client = try daemon.connect()
        let answer = try client.call("AUTH", .text(user.name), .text(user.secret))
        guard answer == .simpleString("OK") else { throw Unexpected("AUTH: \(answer)") }
        return client
    }

    /// A connection that speaks HTTP as a user.
    func connectHTTP(as user: TestUser) throws -> HTTPTestClient {
        let client = try daemon.connectHTTP()
        client.key = user.secret
        return client
    }
}

/// Runs a test with a daemon that has a users file.
///
/// - Parameter programs: the programs of its selectors, by their names.
func withUsers(
    _ users: [TestUser], _ setup: Setup = Setup(), programs: [String: String] = [:],
    _ body: (UserDoors) throws -> Void
) throws {
    let scratch = try Scratch()
    try scratch.writeUsers(users)
    for (name, text) in programs { try scratch.writeProgram(text, to: name) }
    let (text, address) = try freeLoopbackAddress()
    var setup = setup
    setup.listen =
        "http: { unix: \"$DIR/http\", unixMode: \"0666\", tcp: \"\(text)\" }, \(setup.listen)"
    setup.more += "users: \"$DIR/users\","
    let daemon = try TestDaemon(setup, in: scratch)
    defer { daemon.kill() }
    do {
        try body(UserDoors(daemon: daemon, address: address))
    } catch {
        Issue.record("\(error)\n--- the daemon's log:\n\(daemon.log.suffix(4_000))")
    }
}
