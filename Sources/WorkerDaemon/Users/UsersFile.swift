// The users file: JSON5 like the configuration, read by the same readers, so that each fault has
// its line and column. It knows no file itself.

internal import Jobs
internal import Wording

/// The content of a users file.
package struct UsersFile {
    /// Each request of HTTP is compared with every secret.
    static let userCountMax = 1_000
    /// The patterns of one user.
    static let patternCountMax = 64
    /// A new secret beside the old one, while clients change over.
    package static let secretCountMax = 2

    fileprivate var entries: [Entry] = []

    /// The users, in the order of the file.
    package var users: [User] { entries.map(\.user) }

    /// Reads the bytes of a file.
    ///
    /// - Parameter fileName: the file that the faults name.
    /// - Throws: all faults, in the order of the file; a text that is not JSON5 has one.
    /// - Thread: any thread.
    /// - Blocks: never.
    package init(bytes: [UInt8], fileName: String) throws(ConfigurationError) {
        let collector = FaultCollector(builtInSelectors: nil, isCheck: false)
        do throws(JSON5Fault) {
            let root = try JSON5Reader.read(bytes)
            SectionReader.readRoot(root, into: &self, files: .none, collector: collector)
        } catch {
            collector.add("", error.message, at: error.position)
        }
        guard collector.faults.isEmpty else {
            throw ConfigurationError(fileName: fileName, faults: collector.faultsInOrder)
        }
    }

    /// One user while it is read.
    fileprivate struct Entry: ConfigurationSection {
        let name: String
        var roles: Roles = []
        var threads: [NamePattern]?
        var selectors: [NamePattern]?
        var seesPayloads = false
        var secrets: [SecretDigest] = []

        var user: User {
            User(
                name, roles, seesPayloads: seesPayloads,
                scope: JobScope(threads: threads, selectors: selectors), digests: secrets)
        }

        mutating func read(from section: inout SectionReader) {
            section.require("roles", into: &roles, .roles, example: "[\"observe\"]")
            section.read("threads", into: &threads, .patterns)
            section.read("selectors", into: &selectors, .patterns)
            section.read("payloads", into: &seesPayloads, .boolean)
            section.read("secrets", into: &secrets, .digests)
        }
    }
}

extension UsersFile: ConfigurationSection {
    mutating func read(from section: inout SectionReader) {
        section.sections("users", into: &entries) { name, place in
            guard Configuration.isName(name, at: place) else { return nil }
            if name == User.defaultName {
                place.report("is the user of passwordFile and keyFile: give it another name")
                return nil
            }
            return Entry(name: name)
        }
        if !section.has("users") {
            section.report("users", "is missing, such as users: {}")
        }
        if entries.count > Self.userCountMax {
            section.report(
                "users",
                "must be at most \(Self.userCountMax.grouped), are \(entries.count.grouped)")
        }
        var owners: [SecretDigest: String] = [:]
        for entry in entries {
            for secret in entry.secrets {
                if let other = owners.updateValue(entry.name, forKey: secret) {
                    section.report(
                        "users",
                        "\(other) and \(entry.name) have the same secret: a secret has one user")
                }
            }
        }
    }
}

extension FileChecks {
    /// For a file that names no other one.
    fileprivate static let none = FileChecks(
        kind: { _ in .missing },
        contents: { (_, _) throws(Unreadable) in throw Unreadable(reason: "not looked at") },
        searchPath: [])
}

extension ValueRule {
    /// A list of strings, each read by `make`, which reports its own faults.
    fileprivate static func list<Element>(
        of what: String, such example: String, _ range: ClosedRange<Int>,
        _ make: @escaping (String, Place) -> Element?
    ) -> ValueRule<[Element]> {
        ValueRule<[Element]> { value, place in
            let expected = "a list of \(what) such as [\"\(example)\"]"
            guard case .array(let elements, _) = value else {
                place.wrongType(value, expected: expected)
                return nil
            }
            guard range.contains(elements.count) else {
                place.report(
                    "must be \(range.lowerBound)…\(range.upperBound) \(what), are "
                        + elements.count.grouped)
                return nil
            }
            let rule = ValueRule<Element>.string(such: example, check: make)
            return elements.enumerated().compactMap { index, element in
                rule.read(element, place.element(index, at: element.position))
            }
        }
    }
}

extension ValueRule<Roles> {
    /// A list of roles, each once.
    fileprivate static var roles: ValueRule {
        ValueRule { value, place in
            let names = Roles.allNames
            let rule = ValueRule<[Roles]>.list(
                of: "roles", such: "observe", 1...names.count
            ) { text, place -> Roles? in
                if let role = Roles(named: text) { return role }
                let near = Spelling.nearest(to: text, among: names)
                let advice =
                    near.map { "did you mean \"\($0)\"?" }
                    ?? "roles are " + names.map { "\"\($0)\"" }.joined(separator: ", ")
                place.report("unknown role \(text.quoted), \(advice)")
                return nil
            }
            guard let roles = rule.read(value, place) else { return nil }
            let all = roles.reduce(Roles()) { $0.union($1) }
            if all.names.count < roles.count { place.report("has a role twice") }
            return all
        }
    }
}

extension ValueRule<[NamePattern]> {
    /// A list of patterns of names.
    fileprivate static var patterns: ValueRule {
        ValueRule.list(of: "patterns", such: "mail-*", 1...UsersFile.patternCountMax) {
            text, place -> NamePattern? in
            if let pattern = NamePattern(text) { return pattern }
            place.report(
                "must be 1…\(NamePattern.byteCountMax) of the characters A-Z a-z 0-9 _ . - / *, "
                    + "is \(text.quoted)")
            return nil
        }
    }
}

extension ValueRule<[SecretDigest]> {
    /// The digests of at most two secrets.
    fileprivate static var digests: ValueRule {
        let example = "9f86d081…"
        return ValueRule.list(
            of: "SHA-256 digests", such: example, 0...UsersFile.secretCountMax
        ) { text, place -> SecretDigest? in
            if let digest = SecretDigest(hexadecimal: text) { return digest }
            place.report(
                "must be the SHA-256 digest of a secret in 64 hexadecimal digits, as "
                    + "'workerctl user add' writes it")
            return nil
        }
    }
}
