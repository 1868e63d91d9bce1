// The certificates and keys of the doors with TLS, read from their files at the start and at each
// reload.

internal import Jobs
internal import Kernel
internal import TLS

/// The certificates with which the connections of the TCP doors are encrypted.
struct DoorCertificates: Sendable {
    /// The TLS of one door.
    private struct Entry: Sendable {
        let context: TLSContext
        /// The client's end of links to nodes that require a certificate: this one; nil for HTTP.
        let identity: TLSContext?
        /// Digests of what it was made from, to know a change.
        let certificate: [UInt8]
        let key: [UInt8]
        let authorities: [UInt8]?
        let requiresClient: Bool

        func isSame(as other: Entry) -> Bool {
            certificate == other.certificate && key == other.key
                && authorities == other.authorities && requiresClient == other.requiresClient
        }
    }

    /// The client's end of links to nodes that require no certificate.
    private static let links = TLSContext()
    /// By the protocols of the doors: there is one TCP door for each.
    private var entries: [Dialect: Entry] = [:]

    private static let settings = [
        (Dialect.commands, "listen.tls"), (.requests, "listen.http.tls"),
    ]

    /// A chain of certificates is a few KB, a bundle of authorities some 200 KB.
    private static let byteCountMax = 4 << 20

    /// No door has TLS.
    init() {}

    /// Reads the files that a configuration names, and warns of certificates out of their time, or
    /// soon so.
    ///
    /// - Throws: the fault of a file.
    /// - Thread: any thread.
    /// - Blocks: for the disk.
    init(_ listen: Configuration.Listen, _ log: Log) throws(DaemonError) {
        let warnings = try read(listen)
        for warning in warnings { log.warning(warning) }
    }

    /// Checks the files of a configuration without opening its doors.
    ///
    /// - Returns: warnings: of certificates out of their time, or soon so, and of files that can't
    ///   be read here, as the daemon may run as another user.
    /// - Throws: the fault of a file.
    static func check(_ listen: Configuration.Listen) throws(DaemonError) -> [String] {
        for (setting, tls, _) in doors(of: listen) {
            for (key, file) in tls.files {
                if SecretFile.isCredential(file) {
                    return ["\(setting).\(key): \(file) is not looked at here"]
                }
                if SecretFile.isHidden(file, atMost: byteCountMax) {
                    return ["\(setting).\(key): \(file) can't be read here"]
                }
            }
        }
        var found = DoorCertificates()
        return try found.read(listen)
    }

    /// TLS of a door's connections; nil for plaintext.
    func context(of door: DoorSetting) -> TLSContext? {
        guard case .tcp = door.place else { return nil }
        return entries[door.dialect]?.context
    }

    /// The certificate by which other nodes know the door for commands; nil for plaintext.
    var ofNode: NodeCertificate? {
        guard let entry = entries[.commands], let fingerprint = entry.context.fingerprint else {
            return nil
        }
        return NodeCertificate(fingerprint: fingerprint, requiresClient: entry.requiresClient)
    }

    /// The client's end of links to a node; nil if that requires a certificate, and there is none.
    func linkContext(to certificate: NodeCertificate) -> TLSContext? {
        certificate.requiresClient ? entries[.commands]?.identity : Self.links
    }

    /// When the certificate of a protocol's TCP door ends, in seconds of Unix time.
    func endUnixSeconds(of dialect: Dialect) -> Int64? {
        entries[dialect]?.context.validity?.endUnixSeconds
    }

    /// The later ones, but these where nothing has changed: their tickets stay good.
    func renewed(by later: DoorCertificates) -> DoorCertificates {
        var renewed = later
        for (dialect, entry) in entries where later.entries[dialect]?.isSame(as: entry) == true {
            renewed.entries[dialect] = entry
        }
        return renewed
    }

    /// The changes from these files to others, in words.
    func changes(to later: DoorCertificates) -> [String] {
        var lines: [String] = []
        for (dialect, setting) in Self.settings {
            guard let before = entries[dialect], let after = later.entries[dialect] else {
                continue
            }
            if before.certificate != after.certificate {
                let end = after.context.validity?.lastDay
                lines.append(
                    "\(setting).certificate: another certificate"
                        + (end.map { ", valid until \($0)" } ?? ""))
            } else if before.key != after.key {
                lines.append("\(setting).key: another key")
            }
            if let old = before.authorities, let new = after.authorities, old != new {
                lines.append("\(setting).clients: other authorities")
            }
        }
        return lines
    }

    // MARK: - Reading

    private static func doors(
        of listen: Configuration.Listen
    ) -> [(setting: String, tls: Configuration.TLS, dialect: Dialect)] {
        settings.compactMap { dialect, setting in
            let tls = dialect == .commands ? listen.tls : listen.http.tls
            return tls.map { (setting, $0, dialect) }
        }
    }

    /// - Returns: warnings.
    private mutating func read(_ listen: Configuration.Listen) throws(DaemonError) -> [String] {
        var warnings: [String] = []
        for (setting, tls, dialect) in Self.doors(of: listen) {
            let (entry, warning) = try Self.read(tls, setting, dialect)
            entries[dialect] = entry
            if let warning { warnings.append(warning) }
        }
        return warnings
    }

    private static func read(
        _ tls: Configuration.TLS, _ setting: String, _ dialect: Dialect
    ) throws(DaemonError) -> (Entry, warning: String?) {
        let path = try SecretFile.path(tls.key, of: "\(setting).key")
        try SecretFile.checkProtection(of: path, "\(setting).key")
        let files = TLSContext.ServerFiles(
            certificate: try contents(tls.certificate, "\(setting).certificate"),
            key: try contents(tls.key, "\(setting).key"),
            authorities: try tls.clients.map { (file) throws(DaemonError) in
                try contents(file, "\(setting).clients")
            },
            requiresClient: tls.requireClient)
        let (context, identity): (TLSContext, TLSContext?)
        do throws(TLSFileError) {
            context = try TLSContext(serving: dialect == .requests ? .http : .redis, files)
            identity =
                dialect == .commands
                ? try TLSContext(identity: (files.certificate, files.key)) : nil
        } catch {
            let (key, file) =
                switch error.part {
                case .certificate: ("certificate", tls.certificate)
                case .key: ("key", tls.key)
                case .authorities: ("clients", tls.clients ?? "")
                }
            throw SecretFile.fault("\(setting).\(key): \(file) \(error.reason)")
        }
        let warning = context.validity?.warning(
            atUnixSeconds: WallClock.unixMilliseconds() / 1_000)
        let entry = Entry(
            context: context, identity: identity, certificate: SHA256.digest(of: files.certificate),
            key: SHA256.digest(of: files.key),
            authorities: files.authorities.map { SHA256.digest(of: $0) },
            requiresClient: files.requiresClient)
        return (entry, warning.map { "\(setting).certificate: \(tls.certificate) \($0)" })
    }

    private static func contents(
        _ setting: String, _ key: String
    ) throws(DaemonError) -> [UInt8] {
        let path = try SecretFile.path(setting, of: key)
        do throws(UnreadableFile) {
            return try File.readRegular(path, atMost: byteCountMax)
        } catch {
            throw SecretFile.fault("\(key): \(error)")
        }
    }
}

extension Configuration.TLS {
    /// Its files by their keys.
    fileprivate var files: [(key: String, file: String)] {
        [("certificate", certificate), ("key", key)] + (clients.map { [("clients", $0)] } ?? [])
    }
}
