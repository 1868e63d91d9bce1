// The options of a job, beside its thread, selector, payload and time. Most jobs have none, and
// take no memory for them.
//
// To add an option that is only carried along, add it to `allCarried`: the commands that take jobs,
// the stores and the replies that show jobs read that list.

/// The options of a job, beside its thread, selector, payload and time.
package struct JobOptions: Hashable, Sendable {
    /// The time limit of one attempt; `nil` for none.
    package var timeoutMilliseconds: Int64?

    /// The number of further attempts after a failed one; `nil` for its selector's.
    package var retryCountMax: Int?

    /// Whether later jobs of its order wait until a failed attempt was made good; `nil` for its
    /// selector's rule.
    package var retryBlocks: Bool?

    /// The key: jobs with the same one run in order; `nil` for none.
    package var key: [UInt8]?

    /// The time from its acceptance until it expires if it has not begun; `nil` for never.
    package var expireMilliseconds: Int64?

    /// A label for people; `nil` for none.
    package var label: [UInt8]?

    /// The place of its submit in a trace; `nil` for none.
    package var trace: [UInt8]?

    /// The arguments that its program gets after the configured ones, separated by NUL.
    package var arguments: [UInt8]?

    /// The environment variables of its program, each as `NAME=VALUE`, separated by NUL.
    package var environment: [UInt8]?

    /// The moment until which its unique name is in force, in Unix milliseconds.
    ///
    /// Its result is kept as long. Clients can't set it.
    package var uniqueUntil: Int64?

    /// No options, or only these.
    package init(
        timeoutMilliseconds: Int64? = nil, retryCountMax: Int? = nil, retryBlocks: Bool? = nil,
        key: [UInt8]? = nil, expireMilliseconds: Int64? = nil
    ) {
        self.expireMilliseconds = expireMilliseconds
        self.timeoutMilliseconds = timeoutMilliseconds
        self.retryCountMax = retryCountMax
        self.retryBlocks = retryBlocks
        self.key = key
    }

    /// Fills in the selector's options where the client gave none.
    package mutating func fill(from selector: JobOptions) {
        timeoutMilliseconds = timeoutMilliseconds ?? selector.timeoutMilliseconds
        retryCountMax = retryCountMax ?? selector.retryCountMax
        retryBlocks = retryBlocks ?? selector.retryBlocks
        expireMilliseconds = expireMilliseconds ?? selector.expireMilliseconds
    }

    fileprivate static let none = JobOptions()
}

extension JobOptions {
    /// An option that is only carried along: bytes that are shown.
    package struct Carried: Sendable {
        /// The form of an option's bytes.
        package enum Form: Sendable {
            /// A name for people, shown wherever the job is.
            case text
            /// A `traceparent`, shown wherever the job is.
            case trace
            /// A list of words, separated by NUL; shown in the job's description.
            case words
        }

        package let form: Form
        /// The option's code on disk, which never changes.
        fileprivate let code: UInt8
        /// The option's name; in commands in upper case.
        package let name: String
        fileprivate let path: any WritableKeyPath<JobOptions, [UInt8]?> & Sendable
    }

    /// The code of `uniqueUntil` on disks.
    private static let uniqueUntilCode: UInt8 = 129

    package static let allCarried = [
        Carried(form: .text, code: 1, name: "label", path: \.label),
        Carried(form: .words, code: 2, name: "args", path: \.arguments),
        Carried(form: .words, code: 3, name: "env", path: \.environment),
        Carried(form: .trace, code: 4, name: "trace", path: \.trace),
    ]

    /// The words of an option of that form.
    package static func words(_ bytes: [UInt8]?) -> [String] {
        guard let bytes else { return [] }
        return bytes.split(separator: 0, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Words as the bytes of an option of that form; nil for none.
    package static func bytes(ofWords words: [String]) -> [UInt8]? {
        words.isEmpty ? nil : Array(words.map { Array($0.utf8) }.joined(separator: [0]))
    }

    /// The bytes of a carried option.
    package subscript(option: Carried) -> [UInt8]? {
        get { self[keyPath: option.path] }
        set { self[keyPath: option.path] = newValue }
    }

    /// The carried options as stores keep them: for each a code, a length of two bytes, the most
    /// significant first, and so many bytes; nil for none.
    package var carried: [UInt8]? {
        get {
            var bytes: [UInt8] = []
            for option in Self.allCarried {
                guard let value = self[option] else { continue }
                bytes += [option.code, UInt8(value.count >> 8 & 255), UInt8(value.count & 255)]
                bytes += value
            }
            if let uniqueUntil {
                bytes += [Self.uniqueUntilCode, 0, 8]
                bytes += (0..<8).map { UInt8(truncatingIfNeeded: uniqueUntil >> (56 - 8 * $0)) }
            }
            return bytes.isEmpty ? nil : bytes
        }
        set {
            var rest = (newValue ?? [])[...]
            while rest.count >= 3 {
                let code = rest.removeFirst()
                let count = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
                guard count <= rest.count else { return }
                let option = Self.allCarried.first { $0.code == code }
                if let option { self[option] = Array(rest.prefix(count)) }
                if code == Self.uniqueUntilCode, count == 8 {
                    uniqueUntil = rest.prefix(count).reduce(0) { $0 << 8 | Int64($1) }
                }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// The carried options, as they are shown wherever the job is.
    package var shown: [(name: String, value: [UInt8])] {
        Self.allCarried.filter { $0.form != .words }
            .compactMap { option in self[option].map { (option.name, $0) } }
    }

    /// The carried lists of words, as the job's description shows them.
    package var shownWords: [(name: String, words: [String])] {
        Self.allCarried.filter { $0.form == .words }
            .compactMap { option in self[option].map { (option.name, Self.words($0)) } }
    }
}

/// The options of a kept job: nothing if it has none, else one shared reference.
package struct SharedJobOptions: Hashable, Sendable {
    private final class Box: Sendable {
        let options: JobOptions

        init(_ options: JobOptions) { self.options = options }
    }

    private let box: Box?

    /// No options.
    package init() { box = nil }

    package init(_ options: JobOptions) {
        box = options == .none ? nil : Box(options)
    }

    /// The options.
    package var value: JobOptions { box?.options ?? .none }

    package static func == (left: SharedJobOptions, right: SharedJobOptions) -> Bool {
        guard let first = left.box, let second = right.box else {
            return left.isEmpty && right.isEmpty
        }
        return first === second || first.options == second.options
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(value) }

    /// Whether there are no options.
    package var isEmpty: Bool { box == nil }
    package var timeoutMilliseconds: Int64? { box?.options.timeoutMilliseconds }
    package var retryCountMax: Int? { box?.options.retryCountMax }
    package var retryBlocks: Bool? { box?.options.retryBlocks }
    package var key: [UInt8]? { box?.options.key }
    package var expireMilliseconds: Int64? { box?.options.expireMilliseconds }
    package var carried: [UInt8]? { box?.options.carried }
    package var arguments: [UInt8]? { box?.options.arguments }
    package var environment: [UInt8]? { box?.options.environment }
    package var trace: [UInt8]? { box?.options.trace }
    package var uniqueUntil: Int64? { box?.options.uniqueUntil }
    package var shown: [(name: String, value: [UInt8])] { box?.options.shown ?? [] }
}
