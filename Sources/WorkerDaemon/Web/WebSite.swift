// The checks of Host and Origin: a request has to name this server, and must not come from a page
// of another server.
//
// A browser sends requests to 127.0.0.1 for any page that it shows. A page reads their answers if
// its own name was made to mean 127.0.0.1 (DNS rebinding); then Host has that name. A page sends
// changes without reading their answers; then Origin has its name, and the kind of the body is none
// that needs the server's leave, such as JSON.

internal import HTTP

/// The names of this server.
struct WebSite {
    private let names: Set<String>

    /// - Parameter names: further ones, in small letters.
    init(names: [String]) {
        self.names = Set(names).union(["localhost", "127.0.0.1", "[::1]"])
    }

    /// The longest body for payloads of a size: base64 takes a third more, escapes up to twice as
    /// much.
    static func bodyByteCountMax(payloadByteCountMax: Int) -> Int {
        2 * payloadByteCountMax + 64 << 10
    }

    /// The longest body of a request without a key; in base64, a ticket takes less than 100 bytes.
    private static let byteCountMaxWithoutKey = 16 << 10

    /// Refuses a large body of a client that has shown no key.
    static func checkSizeWithoutKey(_ head: RequestHead) throws(HTTPRefusal) {
        guard head.bodyByteCount > byteCountMaxWithoutKey else { return }
        throw HTTPRefusal(
            .contentTooLarge,
            "the body has \(head.bodyByteCount) bytes, the limit is \(byteCountMaxWithoutKey) "
                + "for what needs no key")
    }

    /// Refuses a request that is meant for another server, or sent by a page of another one.
    func check(_ head: RequestHead) throws(HTTPRefusal) {
        guard names.contains(Self.name(of: head.host)) else {
            throw HTTPRefusal(
                .misdirectedRequest,
                "this server is not the host of the request: "
                    + "listen.http.names in the configuration names it")
        }
        guard let origin = head.text(of: "origin") else { return }
        let isOwn = ["http://", "https://"].contains {
            origin.lowercased() == $0 + head.host.lowercased()
        }
        guard isOwn else {
            throw HTTPRefusal(.forbidden, "the request comes from a page of another server")
        }
    }

    /// Refuses a change whose body a form of any page could send.
    static func checkContent(_ head: RequestHead) throws(HTTPRefusal) {
        guard head.method == .post else { return }
        let kind = (head.text(of: "content-type") ?? "").prefix { $0 != ";" }
        let isJSON = kind.lowercased().filter { $0 != " " && $0 != "\t" } == "application/json"
        guard isJSON else {
            throw HTTPRefusal(
                .unsupportedMediaType, "a change needs the field content-type: application/json")
        }
    }

    /// The host without its port, in small letters.
    private static func name(of host: String) -> String {
        let host = host.lowercased()
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") { return String(host[...end]) }
        return String(host.prefix { $0 != ":" })
    }
}
