// The page's files: whole, without a key, for this server's names only, and without an address of
// another server.

import Kernel
import Support
import Testing
import WorkerDaemon

@Suite struct `The page` {
    private static let folder = "Sources/CPage/Assets"

    /// The file of the sources that a path serves.
    private func source(_ path: String) throws -> [UInt8] {
        try repositoryFile(
            "\(Self.folder)/\(path == "/" ? "index.html" : String(path.dropFirst()))")
    }

    @Test(.timeLimit(.minutes(2))) func `is served whole, without a key`() throws {
        try withHTTPDoors { _, address in
            let client = try HTTPTestClient(address)
            #expect(WebPaths.page.count > 30)
            for path in WebPaths.page {
                let response = try client.get(path)
                #expect(response.status == 200, "\(path)")
                #expect(response.body == (try source(path)), "\(path)")
                #expect(response.fields["content-type"] == Self.kind(of: path), "\(path)")
                try Self.checkFields(response, path)
            }
        }
    }

    private static func kind(of path: String) -> String {
        let kinds = [
            (".css", "text/css"), (".js", "text/javascript"), (".svg", "image/svg+xml"),
            ("/", "text/html"),
        ]
        return (kinds.first { path.hasSuffix($0.0) }?.1 ?? "") + "; charset=utf-8"
    }

    private static func checkFields(_ response: HTTPTestResponse, _ path: String) throws {
        let fields = response.fields
        #expect(fields["cache-control"] == "no-cache", "\(path)")
        #expect(fields["x-content-type-options"] == "nosniff", "\(path)")
        #expect(fields["referrer-policy"] == "no-referrer", "\(path)")
        let policy = try #require(fields["content-security-policy"])
        let rules = policy.split(separator: ";").map { $0.drop { $0 == " " } }
        for rule in [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
            "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
        ] {
            #expect(rules.contains { $0 == rule }, "\(path): \(rule)")
        }
        #expect(!policy.contains("unsafe"), "\(path)")
    }

    @Test(.timeLimit(.minutes(2))) func `answers HEAD, and a browser that has it`() throws {
        try withDaemon(.http) { daemon in
            let client = try daemon.connectHTTP()
            for path in ["/", "/main.js", "/base.css"] {
                let whole = try client.get(path)
                try client.raw.send(text: client.request("HEAD", path))
                let head = try client.response(hasBody: false)
                #expect(head.status == 200)
                #expect(head.fields["content-length"] == "\(whole.body.count)")
                let tag = try #require(whole.fields["etag"])
                let known = try client.get(path, fields: ["If-None-Match: \(tag)"])
                #expect(known.status == 304)
                #expect(known.body.isEmpty)
                #expect(known.fields["content-length"] == nil)
                #expect(known.fields["etag"] == tag)
                #expect(try client.get(path, fields: ["If-None-Match: \"x\""]).status == 200)
            }
            #expect(
                Set(try ["/main.js", "/dom.js"].map { try client.get($0).fields["etag"] }).count
                    == 2)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `is not served under the name of another server`() throws {
        try withHTTPDoors { _, address in
            let client = try HTTPTestClient(address)
            for path in ["/", "/main.js"] {
                try client.raw.send(text: client.request("GET", path, host: "evil.example"))
                #expect(try client.response().status == 421)
            }
            #expect(
                try client.get("/main.js", fields: ["Origin: http://evil.example"]).status == 403)
            #expect(try client.get("/", fields: ["Origin: http://localhost"]).status == 200)
            #expect(try client.post("/").status == 405)
        }
    }

    @Test func `embeds each file of its folder`() throws {
        let folder = "\(repositoryDirectory)/\(Self.folder)"
        let paths = try Directory.names(in: folder).map { $0 == "index.html" ? "/" : "/\($0)" }
        #expect(Set(paths) == Set(WebPaths.page))
    }

    @Test func `names no address of another server`() throws {
        // The name of a vocabulary, which no browser asks for.
        let vocabulary = "http://www.w3.org/2000/svg"
        for path in WebPaths.page {
            let text = String(decoding: try source(path), as: UTF8.self)
                .replacing(vocabulary, with: "")
            for sign in ["http:", "https:", "ws:", "wss:", "\"//", "'//", "`//", "(//", "@import"] {
                #expect(!text.contains(sign), "\(path): \(sign)")
            }
        }
    }

    @Test func `has code and style in files of their own`() throws {
        let page = String(decoding: try source("/"), as: UTF8.self)
        #expect(!page.contains("<style"))
        #expect(!page.contains(" style="))
        #expect(page.ranges(of: "<script").count == 1)
        #expect(page.firstMatch(of: #/\son[a-z]+=/#) == nil)
        // Nothing that reads text as markup or as code.
        for path in WebPaths.page where path.hasSuffix(".js") {
            let text = String(decoding: try source(path), as: UTF8.self)
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
            {
                #expect(!text.contains(word), "\(path): \(word)")
            }
        }
    }
}
