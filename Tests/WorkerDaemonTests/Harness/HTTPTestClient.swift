// A client of HTTP that blocks, for tests: raw bytes or requests out, responses in.

import Kernel
import Support
import TLS
import WorkerDaemon

/// A response as a client sees it.
struct HTTPTestResponse {
    let status: Int
    /// By their names in small letters.
    let fields: [String: String]
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as JSON.
    func json() throws -> JSONValue { try JSONReader.read(body) }

    /// The word of an error.
    func word() throws -> String? {
        if case .string(let word)? = try json()["error"] { word } else { nil }
    }
}

/// A connection to the HTTP door of a daemon under test.
final class HTTPTestClient {
    let raw: TestClient
    /// The key that each request has; nil for none.
    var key: String?
    private var pending: [UInt8] = []

    init(_ address: SocketAddress, key: String? = nil, _ context: TLSContext? = nil) throws {
        raw = try TestClient(address, context)
        self.key = key
    }

    /// The bytes of a request.
    func request(
        _ method: String, _ target: String, _ body: String? = nil, fields: [String] = [],
        version: String = "HTTP/1.1", host: String = "localhost"
    ) -> String {
        var lines = ["\(method) \(target) \(version)", "Host: \(host)"]
        if let key { lines.append("Authorization: Bearer \(key)") }
        if let body {
            lines += ["Content-Length: \(body.utf8.count)"]
            if !fields.contains(where: { $0.lowercased().hasPrefix("content-type") }) {
                lines.append("Content-Type: application/json")
            }
        }
        return (lines + fields + ["", ""]).joined(separator: "\r\n") + (body ?? "")
    }

    /// Sends a GET and waits for its response.
    func get(_ target: String, fields: [String] = []) throws -> HTTPTestResponse {
        try raw.send(text: request("GET", target, fields: fields))
        return try response()
    }

    /// Sends a POST and waits for its response.
    func post(
        _ target: String, _ body: String = "{}", fields: [String] = []
    ) throws -> HTTPTestResponse {
        try raw.send(text: request("POST", target, body, fields: fields))
        return try response()
    }

    /// Waits for the next response.
    ///
    /// - Parameter hasBody: whether its body is sent: not for a HEAD.
    func response(hasBody: Bool = true) throws -> HTTPTestResponse {
        while true {
            if let response = parse(hasBody: hasBody) { return response }
            guard let bytes = try raw.bytes() else {
                throw Unexpected(
                    "the connection ended: \(String(decoding: pending, as: UTF8.self))")
            }
            pending += bytes
        }
    }

    /// The bytes until the connection ends.
    func textUntilClosed() throws -> String {
        while let bytes = try raw.bytes() { pending += bytes }
        defer { pending = [] }
        return String(decoding: pending, as: UTF8.self)
    }

    private func parse(hasBody: Bool) -> HTTPTestResponse? {
        let text = String(decoding: pending, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
        let lines = text[..<end.lowerBound].split(separator: "\r\n")
        let status = lines[0].split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let halves = line.split(separator: ": ", maxSplits: 1)
            fields[halves[0].lowercased()] = halves.count == 2 ? String(halves[1]) : ""
        }
        let count = hasBody ? fields["content-length"].flatMap { Int($0) } ?? 0 : 0
        let start = text[..<end.upperBound].utf8.count
        guard pending.count >= start + count else { return nil }
        let body = Array(pending[start..<start + count])
        pending.removeFirst(start + count)
        return HTTPTestResponse(status: status, fields: fields, body: body)
    }
}

/// The key of the HTTP doors of tests.
let testKey = "0123456789abcdef0123456789abcdef"

extension TestDaemon {
    /// A connection to the Unix socket for HTTP.
    func connectHTTP() throws -> HTTPTestClient {
        try HTTPTestClient(.unix(UnixAddress(scratch.file("http"))))
    }
}

extension Setup {
    /// With a Unix socket for HTTP.
    static let http = Setup(listen: "http: { unix: \"$DIR/http\" }")
}

/// Runs a test with a daemon that has a Unix socket and a TCP door for HTTP.
func withHTTPDoors(
    _ setup: Setup = Setup(), more: String = "",
    _ body: (TestDaemon, SocketAddress) throws -> Void
) throws {
    let scratch = try Scratch()
    let (text, address) = try freeLoopbackAddress()
    try scratch.write("\(testKey)\n", to: "key")
    try File.setMode(0o600, of: scratch.file("key"))
    var setup = setup
    setup.listen =
        "http: { unix: \"$DIR/http\", tcp: \"\(text)\", keyFile: \"$DIR/key\", \(more) }"
    let daemon = try TestDaemon(setup, in: scratch)
    defer { daemon.kill() }
    try body(daemon, address)
}
