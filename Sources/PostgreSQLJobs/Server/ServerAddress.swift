// The address of a database as users write it, and as messages show it. Pure.

/// The address of a database: a URI such as `postgresql://host/jobs`.
///
/// - Source: www.postgresql.org/docs/15/libpq-connect.html, "Connection URIs".
package struct ServerAddress: Hashable, Sendable {
    /// The whole address, for libpq.
    let text: String

    /// Reads an address.
    ///
    /// - Returns: nil if it is no URI of PostgreSQL, or names no database.
    package init?(_ text: String) {
        guard let scheme = Self.schemes.first(where: { text.hasPrefix($0) }),
            !text.utf8.contains(0), text.utf8.count <= Self.byteCountMax
        else { return nil }
        let rest = text.dropFirst(scheme.count)
        let path = rest.prefix { $0 != "?" }
        guard let slash = path.lastIndex(of: "/"), !path[slash...].dropFirst().isEmpty else {
            return nil
        }
        self.text = text
    }

    /// Whether a text begins as an address does.
    package static func isMeant(by text: String) -> Bool {
        schemes.contains { text.hasPrefix($0) }
    }

    private static let schemes = ["postgresql://", "postgres://"]
    private static let byteCountMax = 4_000
    private static let secrets = ["password=", "sslpassword="]

    /// The address without passwords.
    package var shown: String {
        var shown = text
        if let end = shown.firstIndex(of: "@"), let scheme = shown.range(of: "://") {
            let user = shown[scheme.upperBound..<end]
            if let colon = user.firstIndex(of: ":") {
                shown.replaceSubrange(shown.index(after: colon)..<end, with: "…")
            }
        }
        let parts = shown.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return shown }
        let options = parts[1].split(separator: "&").map { option -> String in
            for secret in Self.secrets where option.hasPrefix(secret) { return secret + "…" }
            return String(option)
        }
        return parts[0] + "?" + options.joined(separator: "&")
    }
}

extension String {
    fileprivate func range(of part: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(part) {
                return start..<index(start, offsetBy: part.count)
            }
            start = index(after: start)
        }
        return nil
    }
}
