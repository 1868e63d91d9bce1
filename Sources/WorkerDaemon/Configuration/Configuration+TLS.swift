// How the bytes of a TCP door are protected: TLS, or plaintext on purpose.

extension Configuration {
    /// TLS of a TCP door; its files are in PEM.
    package struct TLS: Sendable, Equatable {
        /// The certificate, and those between it and its authority: a path, or
        /// `$CREDENTIALS_DIRECTORY/NAME`.
        package var certificate = ""
        /// The private key, without a password: a path, or `$CREDENTIALS_DIRECTORY/NAME`.
        package var key = ""
        /// The authorities of clients' certificates, in the same way; nil if clients have none.
        package var clients: String?
        /// Whether a client without a certificate is refused.
        package var requireClient = false

        package init() {}
    }
}

extension Configuration.TLS: ConfigurationSection {
    mutating func read(from section: inout SectionReader) {
        section.require(
            "certificate", into: &certificate, .pemFile("cert"),
            example: "\"/etc/workerd/cert.pem\"")
        section.require("key", into: &key, .pemFile("key"), example: "\"/etc/workerd/key.pem\"")
        section.read("clients", into: &clients, .pemFile("clients"))
        section.read("requireClient", into: &requireClient, .boolean)
        if requireClient, !section.has("clients") {
            section.report(
                "requireClient",
                "needs clients, a file with the authorities of their certificates")
        }
    }
}

extension SectionReader {
    /// Reads how a TCP door is protected, and whether that is enough for its address.
    mutating func readProtection(
        ofTCP tcp: Configuration.Address?, into tls: inout Configuration.TLS?,
        _ plaintext: inout Bool
    ) {
        section("tls", into: &tls, from: Configuration.TLS())
        read("plaintext", into: &plaintext, .boolean)
        refuse("tcpAnywhere", "is now tls: { certificate, key }, or plaintext: true on purpose")
        guard has("tcp") else {
            for key in ["tls", "plaintext"] where has(key) {
                report(key, "is of no use without tcp: add tcp or remove it")
            }
            return
        }
        if has("tls"), plaintext { report("plaintext", "contradicts tls: remove one of them") }
        if let tcp, !tcp.isLoopback, !has("tls"), !plaintext {
            report(
                "tcp",
                "is \(tcp), which other machines reach: add tls: { certificate, key }, or "
                    + "plaintext: true if every machine on the way is trusted, or take a loopback "
                    + "address (127.…)")
        }
    }
}

extension ValueRule<String> {
    /// A file in PEM; it is read again when the door is opened.
    fileprivate static func pemFile(_ name: String) -> ValueRule {
        ValueRule { value, place in
            let rule = fileOrCredential(such: "/etc/workerd/\(name).pem")
            guard let path = rule.read(value, place) else { return nil }
            guard path.hasPrefix("/") else { return path }
            switch place.files.kind(path) {
            case .program, .other: return path
            case .missing: place.report("\(path.quoted) does not exist")
            case .directory: place.report("\(path.quoted) is a directory, must be a file")
            }
            return nil
        }
    }
}
