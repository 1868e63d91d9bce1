// The configured doors for requests of HTTP.

internal import Wording

extension Configuration.Listen {
    /// Where requests of HTTP come in, and who may send them.
    package struct HTTP: Sendable, Equatable {
        /// The fewest characters of a key: each request may guess.
        static let keyByteCountMin = 16
        /// The most names of this server.
        private static let nameCountMax = 64

        /// The address of the TCP door; only with `keyFile` or users.
        package var tcp: Configuration.Address?
        /// TLS of the TCP door; nil for plaintext.
        package var tls: Configuration.TLS?
        /// Whether plaintext at `tcp` is meant: only then may other machines reach it without TLS.
        package var plaintext = false
        /// The absolute path of the Unix socket.
        package var unix: String?
        /// The permissions of the Unix socket.
        package var unixMode: UInt32 = 0o600
        /// The absolute path of the file with the key of requests.
        package var keyFile: String?
        /// The names by which browsers may call this server, beside those of this machine.
        package var names: [String] = []

        package init() {}

        /// Whether there is a door.
        package var isServed: Bool { tcp != nil || unix != nil }

        /// The scheme of a URL that begins with the TCP door's address.
        var scheme: String { tls == nil ? "http" : "https" }
    }
}

extension Configuration.Listen.HTTP: ConfigurationSection {
    mutating func read(from section: inout SectionReader) {
        section.read("tcp", into: &tcp, .address)
        section.readProtection(ofTCP: tcp, into: &tls, &plaintext)
        section.read("unix", into: &unix, .socketPath)
        section.read("unixMode", into: &unixMode, .fileMode)
        section.read("keyFile", into: &keyFile, .secretFile("key"))
        section.read("names", into: &names, .hostNames(countMax: Self.nameCountMax))

        if !section.has("tcp"), !section.has("unix") {
            section.report(
                "unix", "is missing: HTTP needs a door, such as unix: \"/run/workerd/http.sock\"")
        }
        if section.has("unixMode"), !section.has("unix") {
            section.report("unixMode", "is of no use without unix: add unix or remove it")
        }
        guard section.has("tcp") else {
            if section.has("names") {
                section.report("names", "is of no use without tcp: add tcp or remove it")
            }
            return
        }
        if !section.has("keyFile"), !section.hasUsers {
            section.report("tcp", "is served only with a key: add keyFile, or a users file")
        }
    }
}

extension ValueRule<[String]> {
    /// Names of hosts as the Host field has them, without a port.
    fileprivate static func hostNames(countMax: Int) -> ValueRule {
        ValueRule { value, place in
            guard case .array(let elements, _) = value, elements.count <= countMax else {
                place.wrongType(
                    value, expected: "a list of at most \(countMax) names such as [\"jobs.lan\"]")
                return nil
            }
            var names: [String] = []
            for (index, element) in elements.enumerated() {
                let place = place.element(index, at: element.position)
                let rule = ValueRule<String>.string(such: "jobs.lan") { text, place in
                    let isName =
                        (1...253).contains(text.utf8.count)
                        && text.utf8.allSatisfy(Self.isPartOfName)
                    if isName { return text.lowercased() }
                    place.report(
                        "must be the name of a host such as \"jobs.lan\", is \(text.quoted)")
                    return nil
                }
                if let name = rule.read(element, place) { names.append(name) }
            }
            return names
        }
    }

    private static func isPartOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
