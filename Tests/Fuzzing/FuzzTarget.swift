// The readers of bytes from outside, each with what must hold for all bytes. Scripts/fuzz looks
// for bytes that break it; the tests try the ones in `Tests/FuzzingTests/Corpora` and changes of
// them.

internal import WorkerDaemon

/// A reader under attack.
package enum FuzzTarget: String, CaseIterable, Sendable {
    /// Commands of the Redis protocol.
    case resp
    /// Replies of the Redis protocol.
    case reply
    /// Requests of HTTP.
    case http
    /// The target of a request of HTTP.
    case url
    /// The fields of a request of HTTP.
    case fields
    /// The body of a request.
    case json
    /// The configuration.
    case json5
    /// An expression of cron.
    case cron
    /// A file of a time zone, and the next moment of a schedule in it.
    case zone

    /// Reads the bytes, and ends the process if that breaks a promise.
    package func read(_ bytes: [UInt8]) {
        switch self {
        case .resp: ProtocolBytes.readCommands(bytes)
        case .reply: ProtocolBytes.readReplies(bytes)
        case .http: HTTPBytes.readRequests(bytes)
        case .url: HTTPBytes.readRequests(HTTPBytes.request(target: bytes))
        case .fields: HTTPBytes.readRequests(HTTPBytes.request(fields: bytes))
        case .json: Texts.readJSON(bytes)
        case .json5: Texts.readConfiguration(bytes)
        case .cron: ScheduleBytes.readExpression(bytes)
        case .zone: ScheduleBytes.readZone(bytes)
        }
    }
}

/// How bytes that arrive in two reads are cut: anywhere, as the bytes themselves say.
func cut(_ bytes: [UInt8]) -> (ArraySlice<UInt8>, ArraySlice<UInt8>) {
    guard let last = bytes.last, bytes.count > 1 else { return (bytes[...], []) }
    let place = Int(last) * (bytes.count - 1) / 255
    return (bytes[..<place], bytes[place...])
}
