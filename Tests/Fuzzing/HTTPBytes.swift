// Requests of HTTP.

internal import HTTP
internal import Support

enum HTTPBytes {
    private static let bodyByteCountMax = 1_000

    static func request(target: [UInt8]) -> [UInt8] {
        Array("GET ".utf8) + target + Array(" HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
    }

    static func request(fields: [UInt8]) -> [UInt8] {
        Array("POST / HTTP/1.1\r\nHost: localhost\r\n".utf8) + fields + Array("\r\n\r\n".utf8)
    }

    /// However requests are cut into reads, they are the same requests, and nothing follows a
    /// refused one.
    static func readRequests(_ bytes: [UInt8]) {
        let (first, second) = cut(bytes)
        let whole = parts([bytes[...]])
        precondition(whole == parts([first, second]), "a cut changes the requests")
        precondition(whole == parts(bytes.map { [$0] }), "single bytes change the requests")
    }

    private static func parts(_ reads: [ArraySlice<UInt8>]) -> [String] {
        var parser = RequestParser(bodyByteCountMax: bodyByteCountMax)
        var found: [String] = []
        for bytes in reads {
            parser.append(bytes)
            do throws(HTTPRefusal) {
                while let part = try parser.next() {
                    check(part, behind: found.last)
                    found.append("\(part)")
                }
            } catch {
                parser.append(Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
                precondition((try? parser.next()) == nil, "a request behind a refused one")
                return found + ["refused: \(error.status) \(error.reason)"]
            }
            precondition(
                parser.pendingByteCount <= RequestParser.headByteCountMax + bodyByteCountMax,
                "more is kept than a request may have")
        }
        return found
    }

    private static func check(_ part: RequestPart, behind last: String?) {
        guard case .head(let head) = part else { return }
        precondition(!head.host.isEmpty && head.fields.count <= RequestParser.fieldCountMax)
        precondition((0...bodyByteCountMax).contains(head.bodyByteCount))
        for field in head.fields {
            precondition(
                !field.value.contains { $0 == 0 || $0 == 10 || $0 == 13 }, "a line in a value")
        }
    }
}
