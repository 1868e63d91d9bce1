// One request as the server sees it, without its body.

/// A method that is served.
package enum HTTPMethod: String, Sendable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
}

/// The version that a client speaks.
package enum HTTPVersion: Sendable {
    case http10, http11
}

/// The request line and the header of a request, checked.
package struct RequestHead: Sendable, Equatable {
    /// A field of the header.
    package struct Field: Sendable, Equatable {
        /// In small letters.
        package let name: String
        /// Without blanks around it.
        package let value: [UInt8]
    }

    /// The method: the action that the client asks for.
    package let method: HTTPMethod
    /// The path, percent signs resolved, and the query.
    package let target: RequestTarget
    package let version: HTTPVersion
    /// In the order of the request.
    package let fields: [Field]
    /// The value of the one Host field.
    package let host: String
    /// The length of the body in bytes.
    package let bodyByteCount: Int
    /// Whether the client waits for a word before it sends the body.
    package let expectsContinue: Bool
    /// Whether the connection stays open behind the response.
    package let keepsAlive: Bool

    /// The first field of a name, as text.
    ///
    /// The fields that decide about a request are there once at most.
    ///
    /// - Parameter name: in small letters.
    package func text(of name: String) -> String? {
        fields.first { $0.name == name }.map { String(decoding: $0.value, as: UTF8.self) }
    }
}

extension RequestHead {
    /// Checks the fields of a request.
    init(
        _ line: RequestLine, _ fields: [Field], bodyByteCountMax: Int
    ) throws(HTTPRefusal) {
        (method, target, version) = (line.method, line.target, line.version)
        self.fields = fields
        for name in Self.single where fields.count(where: { $0.name == name }) > 1 {
            throw HTTPRefusal(.badRequest, "the field \(name) is given twice")
        }
        if fields.contains(where: { $0.name == "transfer-encoding" }) {
            throw HTTPRefusal(.notImplemented, "no Transfer-Encoding is served: give a length")
        }
        host = try Self.host(fields)
        bodyByteCount = try Self.bodyByteCount(fields, line.method, max: bodyByteCountMax)
        let words = Self.connectionWords(fields)
        let isClosing = words.contains { $0.isWord("close") }
        keepsAlive =
            !isClosing && (line.version == .http11 || words.contains { $0.isWord("keep-alive") })
        expectsContinue = try Self.expectsContinue(fields, line.version) && bodyByteCount > 0
    }

    /// The fields of which a second one could mean another request to a proxy in front of us.
    private static let single = [
        "host", "content-length", "content-type", "authorization", "origin", "expect",
    ]

    private static func host(_ fields: [Field]) throws(HTTPRefusal) -> String {
        guard let field = fields.first(where: { $0.name == "host" }) else {
            throw HTTPRefusal(.badRequest, "the field host is missing")
        }
        guard !field.value.isEmpty, field.value.allSatisfy(HTTPByte.isHost) else {
            throw HTTPRefusal(.badRequest, "the field host has no name of a host")
        }
        return String(decoding: field.value, as: UTF8.self)
    }

    /// More digits than any length that is served.
    private static let lengthDigitCountMax = 15

    private static func bodyByteCount(
        _ fields: [Field], _ method: HTTPMethod, max: Int
    ) throws(HTTPRefusal) -> Int {
        guard let field = fields.first(where: { $0.name == "content-length" }) else {
            guard method != .post else {
                throw HTTPRefusal(.lengthRequired, "a POST needs the field content-length")
            }
            return 0
        }
        // As strict as the grammar: digits, no sign, no list.
        guard (1...lengthDigitCountMax).contains(field.value.count),
            field.value.allSatisfy(HTTPByte.isDigit)
        else { throw HTTPRefusal(.badRequest, "content-length is no whole number") }
        let count = field.value.reduce(0) { 10 * $0 + Int($1 - UInt8(ascii: "0")) }
        guard count == 0 || method == .post else {
            throw HTTPRefusal(.badRequest, "a \(method.rawValue) has no body here")
        }
        guard count <= max else {
            throw HTTPRefusal(
                .contentTooLarge, "the body has \(count) bytes, the limit is \(max)")
        }
        return count
    }

    private static func connectionWords(_ fields: [Field]) -> [[UInt8]] {
        fields.filter { $0.name == "connection" }.flatMap { field in
            field.value.split(separator: UInt8(ascii: ",")).map { word in
                word.filter { $0 != HTTPByte.space && $0 != HTTPByte.tab }
            }
        }
    }

    private static func expectsContinue(
        _ fields: [Field], _ version: HTTPVersion
    ) throws(HTTPRefusal) -> Bool {
        guard version == .http11, let field = fields.first(where: { $0.name == "expect" }) else {
            return false
        }
        guard field.value.isWord("100-continue") else {
            throw HTTPRefusal(.expectationFailed, "expect knows 100-continue only")
        }
        return true
    }
}
