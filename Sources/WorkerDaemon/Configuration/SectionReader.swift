// Reads one section of a configuration, key by key. Reading a key makes it known: a section's
// `read(from:)` has one line for each key, and that line gives the faults of the key, its
// suggestion for a misspelt key, and its path. It knows no key itself.

internal import Wording

/// A section of the configuration: a value with its defaults, and one line for each of its keys.
///
/// To add a key, add a property with its default and a line to `read(from:)`.
protocol ConfigurationSection {
    mutating func read(from section: inout SectionReader)
}

/// The faults found so far, and on what terms a configuration is read; confined to the thread that
/// reads.
final class FaultCollector {
    /// The selectors that need no configuration; nil if the program registers some later.
    let builtInSelectors: Set<String>?
    /// Whether the configuration is only checked, and the daemon may start at another time.
    let isCheck: Bool
    /// Whether the configuration has a users file.
    fileprivate var hasUsers = false
    private(set) var faults: [ConfigurationFault] = []
    /// Warnings about things to mend before the start.
    private(set) var warnings: [ConfigurationFault] = []

    init(builtInSelectors: Set<String>?, isCheck: Bool) {
        self.builtInSelectors = builtInSelectors
        self.isCheck = isCheck
    }

    func warn(_ path: String, _ message: String, at position: JSON5Position) {
        warnings.append(ConfigurationFault(path: path, message: message, position: position))
    }

    func add(_ path: String, _ message: String, at position: JSON5Position?) {
        faults.append(ConfigurationFault(path: path, message: message, position: position))
    }

    /// The faults in the order of the file; those of one place in the order of discovery.
    var faultsInOrder: [ConfigurationFault] {
        faults.enumerated().sorted { left, right in
            let start = JSON5Position(line: 0, column: 0)
            let (first, second) = (left.element.position ?? start, right.element.position ?? start)
            return first == second ? left.offset < right.offset : first < second
        }.map(\.element)
    }
}

/// The place of a value: what a rule needs to report a fault.
struct Place {
    let path: String
    let position: JSON5Position
    let files: FileChecks
    fileprivate let collector: FaultCollector

    /// Reports a fault here.
    func report(_ message: String) {
        collector.add(path, message, at: position)
    }

    /// Whether the configuration is only checked, and the daemon may start at another time.
    var isCheck: Bool { collector.isCheck }

    /// Reports a warning about something to mend before the start.
    func warn(_ message: String) {
        collector.warn(path, message, at: position)
    }

    /// The place of an element of the list that is here.
    func element(_ index: Int, at position: JSON5Position) -> Place {
        Place(path: "\(path)[\(index)]", position: position, files: files, collector: collector)
    }
}

/// One section while it is read.
struct SectionReader {
    private let object: JSON5Object
    private let place: Place
    private var known: [String] = []
    private var notYet: [String] = []

    /// Reads the root of a configuration into `target`.
    static func readRoot(
        _ value: JSON5Value, into target: inout some ConfigurationSection, files: FileChecks,
        collector: FaultCollector
    ) {
        read(
            value, into: &target,
            at: Place(path: "", position: value.position, files: files, collector: collector))
    }

    private static func read(
        _ value: JSON5Value, into target: inout some ConfigurationSection, at place: Place
    ) {
        guard case .object(let object, _) = value else {
            return place.wrongType(value, expected: "a section { … }")
        }
        var reader = SectionReader(object: object, place: place)
        target.read(from: &reader)
        reader.reportRepeatedKeys()
        reader.reportUnknownKeys()
    }

    private init(object: JSON5Object, place: Place) {
        self.object = object
        self.place = place
    }

    /// The selectors that need no configuration; nil if the program registers some later.
    var builtInSelectors: Set<String>? { place.collector.builtInSelectors }

    /// Whether the configuration has a users file: doors then need no password of their own.
    var hasUsers: Bool {
        get { place.collector.hasUsers }
        nonmutating set { place.collector.hasUsers = newValue }
    }

    /// Where the value of a key is; nil if it is not given.
    func position(of key: String) -> JSON5Position? { object[key]?.value.position }

    /// Whether the key is given, with a fault or without.
    func has(_ key: String) -> Bool { object[key] != nil }

    /// Whether the key is there and empty.
    func isEmptySection(_ key: String) -> Bool {
        if case .object(let object, _)? = object[key]?.value { return object.members.isEmpty }
        return false
    }

    /// Reports a fault of a key, at its value; at the beginning of the section if it is missing.
    func report(_ key: String, _ message: String) {
        placeOf(key).report(message)
    }

    /// Reads a key with a default.
    mutating func read<Value>(
        _ key: String, into target: inout Value, _ rule: ValueRule<Value>
    ) {
        known.append(key)
        guard let member = object[key] else { return }
        if let value = rule.read(member.value, placeOf(key)) { target = value }
    }

    /// Reads an optional key without a default.
    mutating func read<Value>(
        _ key: String, into target: inout Value?, _ rule: ValueRule<Value>
    ) {
        known.append(key)
        guard let member = object[key] else { return }
        if let value = rule.read(member.value, placeOf(key)) { target = value }
    }

    /// Reads a required key; the fault of a missing one shows `example`.
    mutating func require<Value>(
        _ key: String, into target: inout Value, _ rule: ValueRule<Value>, example: String
    ) {
        read(key, into: &target, rule)
        if !has(key) { report(key, "is missing, such as \(example)") }
    }

    /// Reads a section within this one.
    mutating func section(_ key: String, into target: inout some ConfigurationSection) {
        known.append(key)
        guard let member = object[key] else { return }
        Self.read(member.value, into: &target, at: placeOf(key))
    }

    /// Reads an optional section within this one, which begins as `start`.
    mutating func section<Section: ConfigurationSection>(
        _ key: String, into target: inout Section?, from start: Section
    ) {
        var section = start
        self.section(key, into: &section)
        if has(key) { target = section }
    }

    /// Reads a section whose keys are names that the user chooses, in the order of the file.
    ///
    /// - Parameter make: the initial value for a name; nil if the name is invalid, which it
    ///   reports.
    mutating func sections<Section: ConfigurationSection>(
        _ key: String, into target: inout [Section], make: (String, Place) -> Section?
    ) {
        known.append(key)
        guard let (reader, members) = namedMembers(key, example: "{ name: { … } }") else { return }
        for member in members {
            guard var section = make(member.key, reader.placeOfKey(member)) else { continue }
            Self.read(member.value, into: &section, at: reader.placeOf(member.key))
            target.append(section)
        }
    }

    /// Reads names that the user chooses, each with a plain value.
    mutating func values<Value>(
        _ key: String, into target: inout [String: Value], _ rule: ValueRule<Value>,
        isName: (String, Place) -> Bool
    ) {
        known.append(key)
        guard let (reader, members) = namedMembers(key, example: "{ NAME: \"value\" }") else {
            return
        }
        for member in members where isName(member.key, reader.placeOfKey(member)) {
            target[member.key] = rule.read(member.value, reader.placeOf(member.key))
        }
    }

    /// Refuses a key of another version, with advice.
    mutating func refuse(_ key: String, _ message: String) {
        notYet.append(key)
        if has(key) { report(key, message) }
    }

    // MARK: - Places and faults

    private func placeOf(_ key: String) -> Place {
        Place(
            path: place.path.isEmpty ? Self.shown(key) : "\(place.path).\(Self.shown(key))",
            position: object[key]?.value.position ?? place.position, files: place.files,
            collector: place.collector)
    }

    private func placeOfKey(_ member: JSON5Object.Member) -> Place {
        Place(
            path: placeOf(member.key).path, position: member.keyPosition, files: place.files,
            collector: place.collector)
    }

    private func namedMembers(
        _ key: String, example: String
    ) -> (SectionReader, [JSON5Object.Member])? {
        guard let value = object[key]?.value else { return nil }
        guard case .object(let object, _) = value else {
            placeOf(key).wrongType(value, expected: "a section such as \(example)")
            return nil
        }
        let reader = SectionReader(object: object, place: placeOf(key))
        reader.reportRepeatedKeys()
        return (reader, object.members)
    }

    /// A key as a path shows it: in quotes if a dot or another character could mislead.
    private static func shown(_ key: String) -> String {
        let isPlain = key.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        return isPlain && !key.isEmpty && key.utf8.count <= 64 ? key : key.quoted
    }

    private func reportRepeatedKeys() {
        for repetition in object.repetitions {
            place.collector.add(
                placeOf(repetition.key).path, "is given twice, first at \(repetition.first)",
                at: repetition.again)
        }
    }

    private func reportUnknownKeys() {
        for member in object.members
        where !known.contains(member.key) && !notYet.contains(member.key) {
            let advice =
                if let near = Spelling.nearest(to: member.key, among: known) {
                    "did you mean \"\(near)\"?"
                } else {
                    "known are " + known.map { "\"\($0)\"" }.joined(separator: ", ")
                }
            placeOfKey(member).report("unknown key, \(advice)")
        }
    }
}
