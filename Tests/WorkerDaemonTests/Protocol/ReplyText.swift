// Replies as bytes, taken apart as far as it takes to know where each ends, and to leave out of a
// comparison what differs from one run to the next.

import Support

/// The bytes of a reply.
struct ReplyText {
    /// A line, and the bytes that it announces.
    private struct Token {
        var line: String
        var body: String?
    }

    private var tokens: [Token] = []
    /// How many bytes it has.
    private(set) var byteCount = 0

    /// The first reply in these bytes, or the first push; nil if they end before it does.
    init?(startOf bytes: ArraySlice<UInt8>) throws {
        var missing = 1
        var rest = bytes
        while missing > 0 {
            guard let token = try Self.token(of: &rest) else { return nil }
            missing += Self.elementCount(token.line) - 1
            tokens.append(token)
        }
        byteCount = rest.startIndex - bytes.startIndex
    }

    private static func token(of rest: inout ArraySlice<UInt8>) throws -> Token? {
        guard let end = rest.firstIndex(of: UInt8(ascii: "\r")), end + 1 < rest.endIndex else {
            return nil
        }
        let line = String(decoding: rest[..<end], as: UTF8.self)
        rest = rest[(end + 2)...]
        guard line.hasPrefix("$") || line.hasPrefix("="), let count = Int(line.dropFirst()),
            count >= 0
        else { return Token(line: line) }
        guard rest.count >= count + 2 else { return nil }
        let body = rest.prefix(count)
        rest = rest.dropFirst(count)
        guard rest.starts(with: [13, 10]) else {
            throw Unexpected("\(line) is not the length of what follows")
        }
        rest = rest.dropFirst(2)
        return Token(line: line, body: String(decoding: body, as: UTF8.self))
    }

    private static func elementCount(_ line: String) -> Int {
        guard let kind = line.first, let count = Int(line.dropFirst()) else { return 0 }
        switch kind {
        case "*", ">", "~": return max(0, count)
        case "%": return 2 * count
        default: return 0
        }
    }

    /// The text of its last element.
    var lastBody: String? { tokens.last?.body }

    /// The same, as it would be if the daemon were at home in another directory.
    func moved(from directory: String, to other: String) -> ReplyText {
        var moved = self
        for (index, token) in tokens.enumerated() {
            guard let body = token.body?.replacing(directory, with: other) else {
                let line = token.line.replacing(directory, with: other)
                moved.tokens[index] = Token(line: line, body: nil)
                continue
            }
            moved.tokens[index] = Token(
                line: "\(token.line.prefix(1))\(body.utf8.count)", body: body)
        }
        return moved
    }

    /// Its bytes.
    var bytes: [UInt8] { Array(tokens.map { $0.line + "\r\n" + Self.text($0.body) }.joined().utf8) }

    private static func text(_ body: String?) -> String { body.map { $0 + "\r\n" } ?? "" }

    // MARK: - What is compared

    /// Its lines, with `…` for what no other run has the same.
    var compared: [String] {
        var owner = ""
        return tokens.indices.map { index in
            let name = index > 0 ? tokens[index - 1].body : nil
            var token = tokens[index]
            if name == "name", let body = token.body { owner = body }
            if let body = token.body {
                token.body = Self.masked(body, of: name)
                // Its length follows from the omitted part.
                if token.body != body { token.line = "\(token.line.prefix(1))…" }
            } else if token.line.hasPrefix(":") {
                // The number of the connection is told behind the version of the protocol.
                let isConnection = name == "id" && index > 2 && tokens[index - 3].body == "proto"
                let isOfSomeMember = Self.shared.contains(name) && owner.hasPrefix("mail/")
                let isTime = Self.times.contains(name)
                if isConnection || isOfSomeMember || isTime { token.line = ":…" }
            } else if token.line.hasPrefix("-BUSY"),
                let end = token.line.firstRange(of: "its limit; try")
            {
                token.line = String(token.line[..<end.upperBound])
            }
            return token.line + (token.body.map { " " + $0 } ?? "")
        }
    }

    private static let times: Set<String?> = [
        "accepted-at", "due-at", "started-at", "ended-at", "next-due-at", "last-run-at",
        "running-ms", "time", "due", "since",
    ]
    /// Counts that differ between the members of a pool.
    private static let shared: Set<String?> = ["done", "failed"]

    private static func masked(_ text: String, of name: String?) -> String {
        if name == "worker", text.hasPrefix("mail/") { return "mail/…" }
        return
            text
            .replacing(/^[0-9a-f]{16}-/, with: "…-")
            .replacing(/^redis:.*/, with: "redis:…")
            .replacing(/^id=[0-9]+ addr=[^ ]+ laddr=[^ ]+/, with: "id=… addr=… laddr=…")
            .replacing(/\ (fd|age|idle|qbuf-free|tot-mem)=[0-9]+/) { " \($0.1)=…" }
            .replacing(
                /(process_id|server_time_usec|uptime_in_seconds|total_commands_processed):[0-9]+/
            ) { "\($0.1):…" }
    }
}
