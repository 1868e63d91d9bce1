// A users file while `workerctl user` changes it: users come and go, and everything else in the
// text, such as comments, stays as it was written. Each change is read again before it counts.

internal import Jobs
internal import Wording

/// The text of a users file.
package struct UsersFileText {
    private static let empty = """
        // The users of workerd, changed by `workerctl user`; Documents/Users.md explains it.
        {
            users: {
            },
        }

        """

    private let fileName: String
    private var scalars: [Unicode.Scalar]
    /// The users, in the order of the file.
    package private(set) var users: [User]

    /// - Parameter bytes: the file's; nil if there is none.
    /// - Throws: all faults of the file.
    package init(_ bytes: [UInt8]?, fileName: String) throws(ConfigurationError) {
        let bytes = bytes ?? Array(Self.empty.utf8)
        self.fileName = fileName
        users = try UsersFile(bytes: bytes, fileName: fileName).users
        scalars = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
    }

    package var bytes: [UInt8] { Array(text(of: scalars).utf8) }

    /// Adds a user.
    ///
    /// - Throws: the faults of its name, roles and patterns, or that there is such a user.
    package mutating func add(
        _ name: String, roles: [String], threads: [String], selectors: [String],
        seesPayloads: Bool, _ digest: SecretDigest
    ) throws(ConfigurationError) {
        var keys = ["roles: \(list(roles))"]
        if !threads.isEmpty { keys.append("threads: \(list(threads))") }
        if !selectors.isEmpty { keys.append("selectors: \(list(selectors))") }
        if seesPayloads { keys.append("payloads: true") }
        keys.append(secrets([digest]))
        let lines = keys.map { "            \($0),\n" }.joined()
        guard let users = try member("users", of: try root()) else { return }
        try insert("\(quote(name)): {\n\(lines)        }", into: users, indentation: 8)
    }

    /// Gives a user other secrets.
    package mutating func setSecrets(
        of name: String, to digests: [SecretDigest]
    ) throws(ConfigurationError) {
        guard let users = try member("users", of: try root()),
            let user = try member(name, of: users.value)
        else { return }
        if let old = try member("secrets", of: user.value) {
            try replace(old.range, with: secrets(digests))
        } else {
            try insert(secrets(digests), into: user, indentation: 12)
        }
    }

    /// Removes a user.
    package mutating func remove(_ name: String) throws(ConfigurationError) {
        guard let users = try member("users", of: try root()),
            let user = try member(name, of: users.value)
        else { return }
        var range = user.range
        let isBlank = { (scalar: Unicode.Scalar) in scalar == " " || scalar == "\t" }
        var end = range.upperBound
        while end < scalars.count, isBlank(scalars[end]) { end += 1 }
        if end < scalars.count, scalars[end] == "," { end += 1 }
        var start = range.lowerBound
        while start > 0, isBlank(scalars[start - 1]) { start -= 1 }
        let beginsLine = start == 0 || scalars[start - 1] == "\n"
        var behind = end
        while behind < scalars.count, isBlank(scalars[behind]) { behind += 1 }
        // A line of its own goes as a whole.
        if beginsLine, behind < scalars.count, scalars[behind] == "\n" {
            range = start..<behind + 1
        } else {
            range = range.lowerBound..<end
        }
        try replace(range, with: "")
    }

    // MARK: - The text

    private func root() throws(ConfigurationError) -> JSON5Value {
        do throws(JSON5Fault) {
            return try JSON5Reader.read(bytes)
        } catch {
            throw ConfigurationError(
                fileName: fileName,
                faults: [.init(path: "", message: error.message, position: error.position)])
        }
    }

    private func member(
        _ key: String, of value: JSON5Value
    ) throws(ConfigurationError) -> JSON5Object.Member? {
        guard case .object(let object, _) = value else { return nil }
        return object[key]
    }

    /// Adds a member to the end of an object, on a line of its own.
    private mutating func insert(
        _ text: String, into owner: JSON5Object.Member, indentation: Int
    ) throws(ConfigurationError) {
        guard case .object(let object, _) = owner.value else { return }
        let blanks = String(repeating: " ", count: indentation)
        guard let last = object.members.last else {
            // Before the brace, whose line begins anew.
            let brace = owner.range.upperBound - 1
            var start = brace
            while start > 0, scalars[start - 1] == " " { start -= 1 }
            let isOwnLine = start > 0 && scalars[start - 1] == "\n"
            let before = isOwnLine ? "" : "\n"
            let outer = String(repeating: " ", count: indentation - 4)
            return try replace(
                (isOwnLine ? start : brace)..<brace, with: "\(before)\(blanks)\(text),\n\(outer)")
        }
        var end = last.range.upperBound
        while end < scalars.count, scalars[end] == " " { end += 1 }
        guard end < scalars.count, scalars[end] == "," else {
            let place = last.range.upperBound
            return try replace(place..<place, with: ",\n\(blanks)\(text)")
        }
        // Behind the comma, and behind a comment of that line.
        var place = end + 1
        while place < scalars.count, scalars[place] == " " { place += 1 }
        if place + 1 < scalars.count, scalars[place] == "/", scalars[place + 1] == "/" {
            while place < scalars.count, scalars[place] != "\n" { place += 1 }
        }
        let isEnd = place < scalars.count && scalars[place] == "\n"
        let target = isEnd ? place : end + 1
        try replace(target..<target, with: "\n\(blanks)\(text),")
    }

    /// Changes the text, unless it would have a fault then.
    private mutating func replace(
        _ range: Range<Int>, with text: String
    ) throws(ConfigurationError) {
        var changed = scalars
        changed.replaceSubrange(range, with: text.unicodeScalars)
        users = try UsersFile(bytes: Array(self.text(of: changed).utf8), fileName: fileName).users
        scalars = changed
    }

    private func text(of scalars: [Unicode.Scalar]) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars)
        return String(text)
    }

    private func secrets(_ digests: [SecretDigest]) -> String {
        "secrets: \(list(digests.map(\.hexadecimal)))"
    }

    private func list(_ texts: [String]) -> String {
        "[" + texts.map(quote).joined(separator: ", ") + "]"
    }

    /// A text as a string of JSON5.
    private func quote(_ text: String) -> String {
        let escaped = text.unicodeScalars.map { scalar in
            scalar == "\"" || scalar == "\\" || isControl(scalar) ? " " : String(scalar)
        }
        return "\"" + escaped.joined() + "\""
    }
}

/// A new user's secret and its digest.
package struct NewSecret: Sendable {
    /// The secret, which is shown to the user once.
    package let text: String
    package let digest: SecretDigest

    /// Makes a secret of 256 random bits.
    ///
    /// - Returns: nil where the kernel has no random numbers.
    package static func make() -> NewSecret? {
        guard let text = try? Secret.make() else { return nil }
        return NewSecret(text: text, digest: SecretDigest(of: Array(text.utf8)))
    }
}
