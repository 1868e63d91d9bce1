// All that can be said about a job beside what is to be done, where and when. Most jobs say nothing
// of it, and take no memory for it.
//
// An option that is only carried along is added here (`allCarried`): the commands that take jobs
// know it from there, stores keep it, and it is shown wherever a job is.

/// What can be said about a job beside what is to be done, where and when.
package struct JobOptions: Hashable, Sendable {
    /// How long one attempt may take; `nil` for as long as it likes.
    package var timeoutMilliseconds: Int64?

    /// How many further attempts follow one that failed; `nil` for as many as its selector has.
    package var retryCountMax: Int?

    /// Whether what follows in its order waits until a failed attempt was made good; `nil` for as
    /// its selector says.
    package var retryBlocks: Bool?

    /// What it has in common with those whose order counts; `nil` for none.
    package var key: [UInt8]?

    /// How long after its acceptance it ends if it has not begun; `nil` for never.
    package var expireMilliseconds: Int64?

    /// What people call it; `nil` for nothing.
    package var label: [UInt8]?

    /// The arguments that its program gets beside the configured ones, parted by NUL.
    package var arguments: [UInt8]?

    /// The variables, each as `NAME=VALUE`, that its program gets, parted by NUL.
    package var environment: [UInt8]?

    /// Until when its unique name holds, in Unix milliseconds.
    ///
    /// So long its result is kept. No option of clients.
    package var uniqueUntil: Int64?

    /// Says nothing, or only this.
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

    /// Says what the selector of a job says, where its client does not.
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
        /// What its bytes are.
        package enum Form: Sendable {
            /// A name for people, shown wherever the job is.
            case text
            /// A list of words, parted by NUL; shown in the job's description.
            case words
        }

        package let form: Form
        /// What it is on disks, where it stays what it is.
        fileprivate let code: UInt8
        /// What it is called: in commands in upper case.
        package let name: String
        fileprivate let path: any WritableKeyPath<JobOptions, [UInt8]?> & Sendable
    }

    /// The code of `uniqueUntil` on disks.
    private static let uniqueUntilCode: UInt8 = 129

    package static let allCarried = [
        Carried(form: .text, code: 1, name: "label", path: \.label),
        Carried(form: .words, code: 2, name: "args", path: \.arguments),
        Carried(form: .words, code: 3, name: "env", path: \.environment),
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

    /// What is said as such an option.
    package subscript(option: Carried) -> [UInt8]? {
        get { self[keyPath: option.path] }
        set { self[keyPath: option.path] = newValue }
    }

    /// All that is only carried along, as stores keep it: for each a code, a length of two bytes,
    /// the most significant first, and so many bytes; nil if there is nothing.
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

    /// What is only carried along, as it is shown wherever the job is.
    package var shown: [(name: String, value: [UInt8])] {
        Self.allCarried.filter { $0.form == .text }
            .compactMap { option in self[option].map { (option.name, $0) } }
    }

    /// The lists of words that are only carried along, as its description shows them.
    package var shownWords: [(name: String, words: [String])] {
        Self.allCarried.filter { $0.form == .words }
            .compactMap { option in self[option].map { (option.name, Self.words($0)) } }
    }
}

/// The options of a job where it is kept: nothing if none are said, else shared by all that know
/// the job.
package struct SharedJobOptions: Hashable, Sendable {
    private final class Box: Sendable {
        let options: JobOptions

        init(_ options: JobOptions) { self.options = options }
    }

    private let box: Box?

    /// Nothing is said.
    package init() { box = nil }

    package init(_ options: JobOptions) {
        box = options == .none ? nil : Box(options)
    }

    /// The options.
    package var value: JobOptions { box?.options ?? .none }

    package static func == (left: SharedJobOptions, right: SharedJobOptions) -> Bool {
        left.box === right.box || left.value == right.value
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(value) }

    /// Whether nothing is said.
    package var isEmpty: Bool { box == nil }
    package var timeoutMilliseconds: Int64? { box?.options.timeoutMilliseconds }
    package var retryCountMax: Int? { box?.options.retryCountMax }
    package var retryBlocks: Bool? { box?.options.retryBlocks }
    package var key: [UInt8]? { box?.options.key }
    package var expireMilliseconds: Int64? { box?.options.expireMilliseconds }
    package var carried: [UInt8]? { box?.options.carried }
    package var arguments: [UInt8]? { box?.options.arguments }
    package var environment: [UInt8]? { box?.options.environment }
    package var uniqueUntil: Int64? { box?.options.uniqueUntil }
    package var shown: [(name: String, value: [UInt8])] { box?.options.shown ?? [] }
}
