// Why a request is not served: a status that programs match, and a sentence for people.

/// A request that is refused; its connection is closed behind the answer.
package struct HTTPRefusal: Error, Sendable, Equatable {
    /// The status of the answer.
    package let status: HTTPStatus
    /// The fault, in a sentence for people.
    package let reason: String

    /// The first bytes are those of TLS.
    package static let tlsHandshake = HTTPRefusal(.badRequest, "TLS where plaintext is expected")

    /// Describes a refusal.
    package init(_ status: HTTPStatus, _ reason: String) {
        self.status = status
        self.reason = reason
    }
}

/// The status of a response.
package enum HTTPStatus: Int, Sendable, CaseIterable {
    case ok = 200
    case accepted = 202
    case noContent = 204
    case notModified = 304
    case temporaryRedirect = 307
    case badRequest = 400
    case unauthorized = 401
    case forbidden = 403
    case notFound = 404
    case methodNotAllowed = 405
    case requestTimeout = 408
    case conflict = 409
    case gone = 410
    case lengthRequired = 411
    case contentTooLarge = 413
    case unsupportedMediaType = 415
    case expectationFailed = 417
    case misdirectedRequest = 421
    case unprocessableContent = 422
    case tooManyRequests = 429
    case headerFieldsTooLarge = 431
    case internalServerError = 500
    case notImplemented = 501
    case serviceUnavailable = 503
    case gatewayTimeout = 504
    case versionNotSupported = 505

    /// Whether a body follows.
    var hasBody: Bool { self != .noContent && self != .notModified }

    /// The phrase of the status line: text for people, as programs go by the number.
    package var phrase: String {
        switch self {
        case .ok: "OK"
        case .accepted: "Accepted"
        case .noContent: "No Content"
        case .notModified: "Not Modified"
        case .temporaryRedirect: "Temporary Redirect"
        case .badRequest: "Bad Request"
        case .unauthorized: "Unauthorized"
        case .forbidden: "Forbidden"
        case .notFound: "Not Found"
        case .methodNotAllowed: "Method Not Allowed"
        case .requestTimeout: "Request Timeout"
        case .conflict: "Conflict"
        case .gone: "Gone"
        case .lengthRequired: "Length Required"
        case .contentTooLarge: "Content Too Large"
        case .unsupportedMediaType: "Unsupported Media Type"
        case .expectationFailed: "Expectation Failed"
        case .misdirectedRequest: "Misdirected Request"
        case .unprocessableContent: "Unprocessable Content"
        case .tooManyRequests: "Too Many Requests"
        case .headerFieldsTooLarge: "Request Header Fields Too Large"
        case .internalServerError: "Internal Server Error"
        case .notImplemented: "Not Supported"
        case .serviceUnavailable: "Service Unavailable"
        case .gatewayTimeout: "Gateway Timeout"
        case .versionNotSupported: "HTTP Version Not Supported"
        }
    }
}
