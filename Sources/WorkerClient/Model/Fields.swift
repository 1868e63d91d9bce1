// Reading the entries of a map reply. What is missing or of another type is a fault of the peer;
// entries that this version does not know are passed over.

internal import RESP

struct Fields {
    private let reply: RESPValue
    private let subject: String

    /// - Parameter subject: what the map describes, for errors.
    init(_ reply: RESPValue, of subject: String) {
        self.reply = reply
        self.subject = subject
    }

    func integer(_ key: String) throws(WorkerClientError) -> Int {
        guard let value = optionalInteger(key) else { throw missing(key, "number") }
        return value
    }

    func text(_ key: String) throws(WorkerClientError) -> String {
        guard let value = optionalText(key) else { throw missing(key, "text") }
        return value
    }

    func bytes(_ key: String) throws(WorkerClientError) -> [UInt8] {
        guard let value = reply[key]?.bytes else { throw missing(key, "text") }
        return value
    }

    func optionalInteger(_ key: String) -> Int? { reply[key]?.integer }

    /// A Boolean field; version 2 of the protocol has numbers for it.
    func flag(_ key: String) -> Bool {
        reply[key] == .boolean(true) || reply[key] == .integer(1)
    }

    /// A flag; nil if it is not known.
    func optionalFlag(_ key: String) -> Bool? {
        reply[key].flatMap { $0 == .null ? nil : flag(key) }
    }

    /// The texts of a list; nil without one.
    func optionalTexts(_ key: String) -> [String]? {
        guard case .array(let values)? = reply[key] else { return nil }
        return values.compactMap(\.text)
    }

    /// A part of a whole, from 0 to 1; nil for what is none, such as an infinity.
    func optionalFraction(_ key: String) -> Double? {
        reply[key]?.double.flatMap { (0...1).contains($0) ? $0 : nil }
    }

    /// Milliseconds since 1970-01-01 00:00 UTC.
    func time(_ key: String) throws(WorkerClientError) -> Int64 {
        guard let value = optionalTime(key) else { throw missing(key, "time") }
        return value
    }

    /// Nil also for what is before 1970, when there were no jobs.
    func optionalTime(_ key: String) -> Int64? {
        optionalInteger(key).flatMap { $0 < 0 ? nil : Int64($0) }
    }

    func optionalText(_ key: String) -> String? { reply[key]?.text }

    private func missing(_ key: String, _ kind: String) -> WorkerClientError {
        .protocolFault("the description of \(subject) has no \(kind) called \(key)")
    }
}
