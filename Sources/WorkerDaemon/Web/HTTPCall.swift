// How the answer to a command becomes a response of HTTP. One place says which status each error
// has, and which fields every response.

internal import HTTP
internal import Jobs
internal import Kernel
internal import RESP

/// A request whose answer is outstanding.
struct HTTPCall {
    /// The form of the body.
    enum Shape: Sendable {
        /// The answer is an object.
        case object
        /// The answer is a member of an object.
        case member(String)
        /// The answer is the number of a job, or such a number and whether it is new.
        case accepted
        /// The answer is a list of jobs, of at most so many.
        case jobs(limit: Int)
        /// The answer is the body, of this kind.
        case text(HTTPStatus, String)
    }

    /// The request; nil if it could not be read.
    let head: RequestHead?
    let shape: Shape
    /// The status of an error, if it is not its word's.
    var errorStatus: HTTPStatus?
    /// Further fields of the response.
    var fields: ResponseHead.Fields = []
    /// Whether the response is data, which no cache may keep and no browser show as a page.
    var isData = true

    /// The fields of every response with data, which no cache may keep.
    static let fields: ResponseHead.Fields = [
        ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ]
    private static let json = "application/json"
    static let plainText = "text/plain; charset=utf-8"

    /// The response to a request that is refused.
    init(_ refusal: HTTPRefusal, to head: RequestHead?, fields: ResponseHead.Fields = []) {
        self.head = head
        shape = .object
        errorStatus = refusal.status
        self.fields = fields
    }

    init(_ head: RequestHead, _ shape: Shape) {
        self.head = head
        self.shape = shape
    }

    /// The bytes of the response to a connection that is refused.
    static func refusal(_ refusal: HTTPRefusal) -> [UInt8] {
        let response = HTTPCall(refusal, to: nil).response(
            .value(refusal.value), keepsAlive: false)
        return response.head + response.body
    }

    /// The response, in two pieces.
    func response(_ answer: Session.Answer, keepsAlive: Bool) -> (head: [UInt8], body: [UInt8]) {
        var (status, type, more) = (HTTPStatus.ok, Self.json, fields)
        var body: [UInt8] = []
        switch (answer, shape) {
        case (.value(.error(let text)), _):
            let error = HTTPError(text)
            status = errorStatus ?? error.status
            more += error.fields
            body = error.body
        case (.encoded(let bytes), .text(let said, let kind)):
            (status, type, body) = (said, kind, bytes)
        case (.encoded(let bytes), _): body = bytes
        case (.rows(let rows, let count, let last), .jobs(let limit)):
            body = Self.page(rows, next: count == limit ? last : nil)
        case (.rows(let rows, _, _), _): body = Self.page(rows, next: nil)
        case (.value(let value), .member(let name)): body = JSONText.object(name, value)
        case (.value(let value), .jobs): body = JSONText.object("jobs", value)
        case (.value(.integer(let id)), .accepted):
            (status, body) = (.accepted, JSONText.object("id", .integer(id)))
        case (.value(.array(let pair)), .accepted):
            (status, body) = (.accepted, Self.known(pair))
        case (.value(let value), .accepted): body = JSONText.object("result", value)
        case (.value(let value), _): JSONText.append(value, to: &body)
        }
        if type == Self.json { body.append(UInt8(ascii: "\n")) }
        var bytes: [UInt8] = []
        let hasBody = ResponseWriter.writeHead(
            ResponseHead(status, type, (isData ? Self.fields : []) + more),
            bodyByteCount: body.count, to: head,
            keepsAlive: keepsAlive, unixSeconds: WallClock.unixMilliseconds() / 1_000, &bytes)
        return (bytes, hasBody ? body : [])
    }

    private static func page(_ rows: [UInt8], next: JobID?) -> [UInt8] {
        Array("{\"jobs\":[".utf8) + rows
            + Array("],\"next\":\(next.map { "\($0.number)" } ?? "null")}".utf8)
    }

    private static func known(_ pair: [RESPValue]) -> [UInt8] {
        var body: [UInt8] = []
        let isNew = pair.last == text("new")
        JSONText.append(
            .map([entry("id", pair.first ?? .null), entry("new", .boolean(isNew))]), to: &body)
        return body
    }
}

extension HTTPConversation.Exchange {
    /// The response to a request, in two pieces.
    ///
    /// - Parameter isLast: whether the connection is closed behind it.
    func response(_ answer: Session.Answer, isLast: Bool) -> (head: [UInt8], body: [UInt8]) {
        switch self {
        case .call(let call): return call.response(answer, keepsAlive: !isLast)
        case .whole:
            guard case .encoded(let bytes) = answer else { return ([], []) }
            return (bytes, [])
        }
    }
}

extension HTTPRefusal {
    /// The refusal as a command's error.
    var value: RESPValue {
        let word: WireError.Word =
            switch status {
            case .unauthorized: .noAuth
            case .tooManyRequests, .serviceUnavailable: .busy
            default: .err
            }
        return WireError(word, reason).reply
    }
}

/// An error reply as a response of HTTP.
private struct HTTPError {
    private let word: String
    private let message: String

    /// Reads `NOJOB there is no job 7`.
    init(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 1)
        word = parts.first.map(String.init) ?? ""
        message = parts.count == 2 ? String(parts[1]) : ""
    }

    var status: HTTPStatus {
        switch WireError.Word(rawValue: word) {
        case .err, .noProto, .execAbort, nil: .badRequest
        case .noAuth, .wrongPass: .unauthorized
        case .noPerm: .forbidden
        case .noThread, .noSelector, .noJob: .notFound
        case .conflict, .stale, .inUse, .unblocked: .conflict
        case .gone: .gone
        case .failed, .cancelled, .expired: .unprocessableContent
        case .timeout: .gatewayTimeout
        case .busy, .shuttingDown: .serviceUnavailable
        }
    }

    var fields: ResponseHead.Fields {
        switch status {
        case .unauthorized: [("WWW-Authenticate", "Bearer realm=\"workerd\"")]
        case .serviceUnavailable: [("Retry-After", "1")]
        default: []
        }
    }

    var body: [UInt8] {
        var body: [UInt8] = []
        JSONText.append(
            .map([entry("error", text(word)), entry("message", .simpleString(message))]), to: &body)
        return body
    }
}
