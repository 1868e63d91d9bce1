// Daemons that share one database, each with the doors of a node, as on machines of their own.

import Kernel
import PostgreSQLServer
import RESP
import Support
import Testing

/// A daemon that is one of several with one database.
struct TestNode {
    let daemon: TestDaemon
    /// Where it speaks the Redis protocol over TCP, with the password `TestNode.password`.
    let address: SocketAddress
    /// Where it speaks HTTP over TCP, with the key `testKey`.
    let http: SocketAddress

    static let password = "open sesame"

    /// Starts a node and waits for nothing.
    ///
    /// - Parameters:
    ///   - database: its database.
    ///   - tls: whether both TCP doors have TLS.
    ///   - told: the address that others are told in place of its own.
    ///   - shares: whether it shares the threads with others.
    init(
        _ name: String, in database: String, tls: Bool = false, told: String? = nil,
        threads: String = "images: {}", shares: Bool = false,
        selectors: String = "", more: String = "",
        limits: String = "", environment: [String: String] = [:]
    ) throws {
        let scratch = try Scratch()
        let (door, http) = (try freeLoopbackAddress(), try freeLoopbackAddress())
        (address, self.http) = (door.address, http.address)
        try scratch.write("\(testKey)\n", to: "key")
        try File.setMode(0o600, of: scratch.file("key"))
        let secure = tls ? ", \(try TestAuthority.door(in: scratch, more: ""))" : ""
        let setup = Setup(
            threads: threads, selectors: "resize: { worker: true }, \(selectors)", limits: limits,
            listen: try scratch.passwordDoor(at: door.text, password: Self.password)
                + "\(secure), http: { unix: \"$DIR/http\", tcp: \"\(http.text)\", "
                + "keyFile: \"$DIR/key\" \(secure) }",
            store: "\"\(database)\", stateDirectory: \"$DIR\"",
            more: "node: { name: \"\(name)\""
                + (told.map { ", address: \"\($0)\"" } ?? "")
                + (shares ? ", sharesThreads: true" : "") + " }, \(more)")
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        daemon = try TestDaemon(
            arguments: ["--config", scratch.file("workerd.json5")], in: scratch,
            environment: environment)
    }

    /// Waits until its clients are passed on to a node.
    func waitUntilPassingOn(to name: String) throws {
        try eventually("clients are passed on to \(name)") {
            if !daemon.isRunning { throw Unexpected("workerd ended: \(daemon.log)") }
            return daemon.log.contains("clients are passed on to node \(name)")
        }
    }

    /// A client of its Unix socket that has authenticated where it was passed on to.
    func connect() throws -> TestClient {
        let client = try daemon.connect()
        guard try client.call("AUTH", .text(Self.password)).text == "OK" else {
            throw Unexpected("no AUTH")
        }
        return client
    }
}

/// Two nodes with one database, of which the second waits.
struct TestNodes {
    let first: TestNode
    let second: TestNode
    let database: String

    /// - Parameters:
    ///   - limits: those of the second.
    ///   - environment: further variables of the second.
    init(tls: Bool = false, limits: String = "", environment: [String: String] = [:]) throws {
        database = try PostgreSQLServer.shared.get().makeDatabase()
        first = try TestNode("a", in: database, tls: tls)
        try first.daemon.waitUntilListening()
        second = try TestNode(
            "b", in: database, tls: tls, limits: limits, environment: environment)
        try second.waitUntilPassingOn(to: "a")
    }

    /// Ends both, and shows their logs if a test's body fails.
    func check(_ body: () throws -> Void) {
        defer {
            first.daemon.kill()
            second.daemon.kill()
        }
        do {
            try body()
        } catch {
            Issue.record(
                """
                \(error)
                --- the first's log:
                \(first.daemon.log.suffix(3_000))
                --- the second's log:
                \(second.daemon.log.suffix(3_000))
                """)
        }
    }

    /// The output of `workerctl` about the first.
    func workerctl(_ arguments: String...) throws -> String {
        try ProgramRun(
            "\(try productsDirectory())/workerctl", ["--socket", first.daemon.socket] + arguments
        ).output
    }

    func sql(_ text: String) throws -> String { try PostgreSQLServer.run(text, at: database) }
}
