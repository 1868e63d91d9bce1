// Doors with TLS for tests, and the contexts of their clients.

import Kernel
import Support
import TLS
import Testing

/// The content of a file in PEM.
private func contents(_ path: String) throws -> [UInt8] { try File.read(path, atMost: 1 << 20) }

extension Scratch {
    /// Installs a certificate of the tests' authority, in place of an earlier one.
    func install(_ issued: TestAuthority.Issued) throws {
        try File.write(contents(issued.certificate), to: file("cert.pem"))
        try File.write(contents(issued.key), to: file("key.pem"))
        try File.setMode(0o600, of: file("key.pem"))
    }
}

extension TestAuthority {
    /// The part of a configuration for a door with TLS; the certificate is installed.
    ///
    /// - Parameter more: further keys.
    static func door(
        in scratch: Scratch, _ issued: Issued? = nil, more: String = ""
    ) throws -> String {
        try scratch.install(issued ?? shared().issue("server"))
        return "tls: { certificate: \"$DIR/cert.pem\", key: \"$DIR/key.pem\", \(more) }"
    }
}

extension TLSContext {
    /// A client's context that trusts the tests' authority.
    static func testClient(_ own: TestAuthority.Issued? = nil) throws -> TLSContext {
        try TLSContext(
            trusting: contents(TestAuthority.shared().certificate),
            identity: own.map { (try contents($0.certificate), try contents($0.key)) })
    }

    /// A server's context with a certificate of the tests' authority.
    static func testServer() throws -> TLSContext {
        let issued = try TestAuthority.shared().issue("server")
        return try TLSContext(
            serving: .redis,
            ServerFiles(
                certificate: contents(issued.certificate), key: contents(issued.key)))
    }
}

/// Runs a test with a daemon that has TCP doors with TLS for commands and for HTTP, with the
/// password `open sesame` and the key `testKey`.
///
/// - Parameter more: what `tls` of both has beside certificate and key.
func withTLSDoors(
    _ setup: Setup = Setup(), more: String = "",
    _ body: (_ daemon: TestDaemon, _ door: SocketAddress, _ http: SocketAddress) throws -> Void
) throws {
    let scratch = try Scratch()
    let tls = try TestAuthority.door(in: scratch, more: more)
    let (door, http) = (try freeLoopbackAddress(), try freeLoopbackAddress())
    try scratch.write("\(testKey)\n", to: "key")
    try File.setMode(0o600, of: scratch.file("key"))
    var setup = setup
    setup.listen =
        try scratch.passwordDoor(at: door.text, password: "open sesame") + ", \(tls), "
        + "http: { tcp: \"\(http.text)\", keyFile: \"$DIR/key\", \(tls) }"
    let daemon = try TestDaemon(setup, in: scratch)
    defer { daemon.kill() }
    do {
        try body(daemon, door.address, http.address)
    } catch {
        Issue.record("\(error)\n--- the daemon's log:\n\(daemon.log.suffix(4_000))")
    }
}
