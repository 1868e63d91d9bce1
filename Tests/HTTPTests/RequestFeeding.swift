// Feeds bytes to the parser in any cut, and records the results, so that tests compare one cut with
// another.

import HTTP
import Support

/// A result of the parser, which can be compared and printed.
enum RequestEvent: Equatable {
    case head(String)
    case body([UInt8])
    case refusal(Int, String)
}

extension String {
    /// The bytes of the text.
    var bytes: [UInt8] { Array(utf8) }
}

/// Feeds `bytes` in pieces of these sizes, the rest in one, and takes all parts after each.
func requestEvents(
    _ bytes: [UInt8], pieces: [Int] = [], bodyByteCountMax: Int = 1_000
) -> [RequestEvent] {
    var parser = RequestParser(bodyByteCountMax: bodyByteCountMax)
    var events: [RequestEvent] = []
    var rest = bytes[...]
    for piece in pieces + [bytes.count] {
        parser.append(rest.prefix(piece))
        rest = rest.dropFirst(piece)
        do {
            while let part = try parser.next() { events.append(RequestEvent(part)) }
        } catch {
            return events + [.refusal(error.status.rawValue, error.reason)]
        }
    }
    return events
}

extension RequestEvent {
    init(_ part: RequestPart) {
        switch part {
        case .head(let head):
            let fields = head.fields.map {
                "\($0.name)=\(String(decoding: $0.value, as: UTF8.self))"
            }
            self = .head(
                "\(head.method.rawValue) \(head.target.segments) \(head.target.query) "
                    + "\(head.version) \(fields) \(head.host) \(head.bodyByteCount) "
                    + "\(head.expectsContinue) \(head.keepsAlive)")
        case .body(let body): self = .body(body)
        }
    }
}

/// The head of a request that is served.
func head(_ text: String) throws -> RequestHead {
    var parser = RequestParser(bodyByteCountMax: 1_000)
    parser.append(text.utf8)
    guard case .head(let head) = try parser.next() else { throw Unexpected("no head: \(text)") }
    return head
}

/// The refusal of the first request that is refused.
func refusal(_ text: String) -> Int? {
    guard case .refusal(let status, _) = requestEvents(text.bytes).last else { return nil }
    return status
}
