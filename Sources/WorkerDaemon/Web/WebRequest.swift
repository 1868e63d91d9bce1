// The arguments of a command, from the path, the query or the body of a request.

internal import HTTP
internal import Jobs
internal import RESP
internal import Wording

/// A request that has arrived in full.
struct WebRequest {
    let head: RequestHead
    /// The values of the path's parameters, in order.
    let parameters: [String]
    /// The members of the body; none if it is empty.
    let members: [JSONValue.Member]

    init(_ head: RequestHead, _ parameters: [String], body: [UInt8]) throws(WireError) {
        self.head = head
        self.parameters = parameters
        guard !body.isEmpty else {
            members = []
            return
        }
        do throws(JSONFault) {
            guard case .object(let members) = try JSONReader.read(body) else {
                throw JSONFault(offset: 0, reason: "an object was expected")
            }
            self.members = members
        } catch {
            throw WireError(.err, error.description)
        }
    }

    /// The place in a trace that the header names.
    ///
    /// One that is not well formed is passed over, as its standard asks.
    var trace: [UInt8]? {
        head.fields.first { $0.name == "traceparent" }.map(\.value)
            .flatMap { TraceParent.isValid($0) ? $0 : nil }
    }

    /// The value of a parameter of the query, which is there once at most.
    func query(_ name: String) -> String? {
        head.target.query.first { $0.name == name }?.value
    }

    /// Refuses parameters of the query that are unknown or given twice.
    ///
    /// - Parameter repeatable: the ones that may be given several times.
    func checkQuery(_ known: [String], repeatable: [String] = []) throws(WireError) {
        var names = head.target.query.map(\.name)
        names = names.filter { !repeatable.contains($0) } + Set(names).filter(repeatable.contains)
        try check(names, known, "parameter")
    }

    /// Refuses members of the body that are unknown.
    func checkMembers(_ known: [String]) throws(WireError) {
        try check(members.map(\.key), known, "key")
    }

    private func check(
        _ names: [String], _ known: [String], _ what: String
    ) throws(WireError) {
        var seen: Set<String> = []
        for name in names {
            guard known.contains(name) else {
                let hint = known.isEmpty ? "there is none" : known.joined(separator: ", ")
                throw WireError(.err, "unknown \(what) \(quoted(name)); known: \(hint)")
            }
            guard seen.insert(name).inserted else {
                throw WireError(.err, "the \(what) \(quoted(name)) is given twice")
            }
        }
    }

    /// The value of a member; nil if it is missing or null.
    func member(_ key: String) -> JSONValue? {
        let value = members.first { $0.key == key }?.value
        return value == .null ? nil : value
    }

    /// The bytes of a member: a string, or `{"base64": "…"}`.
    func bytes(_ key: String) throws(WireError) -> [UInt8]? {
        switch member(key) {
        case nil: return nil
        case .string(let text): return Array(text.utf8)
        case .object(let members) where members.count == 1 && members[0].key == "base64":
            if case .string(let text) = members[0].value, let bytes = Base64.bytes(of: text) {
                return bytes
            }
            throw WireError(.err, "\(key): its base64 is wrong")
        default: throw WireError(.err, "\(key) must be a string, or {\"base64\": \"…\"}")
        }
    }

    /// The bytes of a member that has to be there.
    func required(_ key: String) throws(WireError) -> [UInt8] {
        guard let bytes = try bytes(key) else { throw WireError(.err, "\(key) is missing") }
        return bytes
    }

    /// The digits of a whole number; its range is the command's to check.
    func number(_ key: String) throws(WireError) -> [UInt8]? {
        guard let value = member(key) else { return nil }
        guard case .number(let written) = value, Int(written) != nil else {
            throw WireError(.err, "\(key) must be a whole number")
        }
        return Array(written.utf8)
    }

    func flag(_ key: String) throws(WireError) -> Bool {
        guard let value = member(key) else { return false }
        guard case .boolean(let flag) = value else {
            throw WireError(.err, "\(key) must be true or false")
        }
        return flag
    }

    /// The words of a member: a list of strings.
    func words(_ key: String) throws(WireError) -> [[UInt8]]? {
        guard let value = member(key) else { return nil }
        guard case .array(let values) = value else {
            throw WireError(.err, "\(key) must be a list of strings")
        }
        var words: [[UInt8]] = []
        for value in values {
            guard case .string(let text) = value else {
                throw WireError(.err, "\(key) must be a list of strings")
            }
            words.append(Array(text.utf8))
        }
        return words
    }
}

/// The arguments of a command, in the order in which it takes them.
struct CommandArguments {
    private(set) var all: [[UInt8]]

    init(_ words: String...) { all = words.map { Array($0.utf8) } }

    mutating func add(_ bytes: [UInt8]) { all.append(bytes) }

    mutating func add(_ word: String) { all.append(Array(word.utf8)) }

    /// Adds an option with a value, unless there is none.
    mutating func add(_ name: String, _ value: [UInt8]?) {
        guard let value else { return }
        add(name)
        add(value)
    }

    mutating func add(_ name: String, _ value: String?) { add(name, value.map { Array($0.utf8) }) }

    mutating func addFlag(_ name: String, _ isSet: Bool) { if isSet { add(name) } }
}
