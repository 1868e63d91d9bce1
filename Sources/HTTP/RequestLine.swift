// The first line of a request.

/// Method, target and version of a request.
struct RequestLine: Sendable, Equatable {
    let method: HTTPMethod
    let target: RequestTarget
    let version: HTTPVersion

    /// Reads a line, without its CR and LF.
    init(_ line: ArraySlice<UInt8>) throws(HTTPRefusal) {
        let parts = line.split(separator: HTTPByte.space, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(HTTPByte.isToken) else {
            throw HTTPRefusal(.badRequest, "the first line is no request of HTTP")
        }
        version = try Self.version(parts[2])
        guard let method = HTTPMethod(rawValue: String(decoding: parts[0], as: UTF8.self)) else {
            throw HTTPRefusal(.notImplemented, "served are GET, HEAD and POST")
        }
        self.method = method
        target = try RequestTarget(parts[1])
    }

    private static func version(_ text: ArraySlice<UInt8>) throws(HTTPRefusal) -> HTTPVersion {
        switch String(decoding: text, as: UTF8.self) {
        case "HTTP/1.1": return .http11
        case "HTTP/1.0": return .http10
        default: break
        }
        let digits = text.dropFirst(5)
        guard text.starts(with: "HTTP/".utf8), digits.count == 3,
            digits.first.map(HTTPByte.isDigit) == true,
            digits.dropFirst().first == UInt8(ascii: "."),
            digits.last.map(HTTPByte.isDigit) == true
        else { throw HTTPRefusal(.badRequest, "the first line is no request of HTTP") }
        throw HTTPRefusal(.versionNotSupported, "served are HTTP/1.1 and HTTP/1.0")
    }
}

/// Where a request goes: a path in segments, and the parameters of the query.
package struct RequestTarget: Sendable, Equatable {
    /// The parts of the path between its slashes, percent signs resolved.
    package let segments: [String]
    /// The parameters behind the question mark, in their order.
    package let query: [(name: String, value: String)]
    /// As it was sent.
    package let text: String

    /// Reads the origin form: an absolute path and a query.
    init(_ bytes: ArraySlice<UInt8>) throws(HTTPRefusal) {
        guard bytes.first == HTTPByte.slash, bytes.allSatisfy(HTTPByte.isTarget) else {
            throw HTTPRefusal(.badRequest, "the target is no path of this server")
        }
        text = String(decoding: bytes, as: UTF8.self)
        let mark = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
        let path = bytes[bytes.startIndex + 1..<mark]
        var segments: [String] = []
        for part in path.split(separator: HTTPByte.slash, omittingEmptySubsequences: false) {
            segments.append(try Self.decoded(part))
        }
        // A path is looked up in a table; so it never leaves it. To a proxy it may mean another.
        guard !segments.contains("."), !segments.contains("..") else {
            throw HTTPRefusal(.badRequest, "the target has a segment of dots")
        }
        self.segments = segments
        var query: [(name: String, value: String)] = []
        for pair in bytes[mark...].dropFirst().split(separator: UInt8(ascii: "&")) {
            let halves = pair.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            query.append(
                (
                    try Self.decoded(halves[0], plusIsBlank: true),
                    try halves.count == 2 ? Self.decoded(halves[1], plusIsBlank: true) : ""
                ))
        }
        self.query = query
    }

    package static func == (left: RequestTarget, right: RequestTarget) -> Bool {
        left.text == right.text
    }

    /// The text of escaped bytes; NUL and bytes that are not UTF-8 are refused.
    private static func decoded(
        _ bytes: ArraySlice<UInt8>, plusIsBlank: Bool = false
    ) throws(HTTPRefusal) -> String {
        var text: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "+"), plusIsBlank {
                text.append(HTTPByte.space)
            } else if byte != HTTPByte.percent {
                text.append(byte)
            } else if let high = rest.popFirst().flatMap(HTTPByte.hexadecimalValue),
                let low = rest.popFirst().flatMap(HTTPByte.hexadecimalValue), high | low != 0
            {
                text.append(high << 4 | low)
            } else {
                throw HTTPRefusal(.badRequest, "the target has a wrong escape")
            }
        }
        guard let valid = String(validating: text, as: UTF8.self) else {
            throw HTTPRefusal(.badRequest, "the target is not UTF-8")
        }
        return valid
    }
}
