// The parameters of a statement in PostgreSQL's binary format. Each statement casts its parameters,
// such as `$1::bigint`, so the types need not be said here.

/// The parameters of one execution of a statement, in order.
///
/// - Source: the functions `int8recv`, `textrecv`, `bytearecv` and `array_recv` of PostgreSQL.
struct Parameters {
    /// The bytes of each; nil for NULL.
    private(set) var values: [[UInt8]?] = []

    init() {}

    /// The two numbers of an advisory lock, to which more may be added.
    init(lock number: Int64, of lockClass: Int = ServerSchema.lockClass) {
        add(Int64(lockClass))
        add(number)
    }

    /// The number of bytes of all values.
    var byteCount: Int { values.reduce(0) { $0 + ($1?.count ?? 0) } }

    /// Adds a `bigint`.
    mutating func add(_ value: Int64?) {
        guard let value else { return values.append(nil) }
        var bytes: [UInt8] = []
        bytes.append(bigEndian: value)
        values.append(bytes)
    }

    /// Adds a number as a `bigint`.
    mutating func add(_ value: UInt64) { add(Int64(clamping: value)) }

    /// Adds a count as a `bigint`.
    mutating func add(_ value: Int) { add(Int64(value)) }

    /// Adds a `text`.
    mutating func add(_ value: String?) { values.append(value.map { Array($0.utf8) }) }

    /// Adds a `bytea`.
    mutating func add(_ value: [UInt8]?) { values.append(value) }

    /// Adds a `boolean`.
    mutating func add(_ value: Bool?) { values.append(value.map { [$0 ? 1 : 0] }) }

    /// Adds an array.
    mutating func add(_ array: ArrayParameter?) { values.append(array?.bytes) }
}

/// An array as a parameter, such as a column of many rows.
struct ArrayParameter {
    /// The number of a type in `pg_type`.
    enum Element: Int32 {
        case boolean = 16
        case bytea = 17
        case bigint = 20
        case text = 25
    }

    private let element: Element
    private var count: Int32 = 0
    private var hasNull = false
    private var contents: [UInt8] = []

    init(of element: Element, capacity: Int = 0) {
        self.element = element
        contents.reserveCapacity(capacity * 12)
    }

    mutating func append(_ value: Int64?) {
        guard let value else { return appendNull() }
        contents.append(
            bigEndian: (
                8, UInt32(truncatingIfNeeded: value >> 32), UInt32(truncatingIfNeeded: value)
            )
        )
        count += 1
    }

    mutating func append(_ value: String?) {
        guard let value else { return appendNull() }
        contents.append(bigEndian: Int32(value.utf8.count))
        contents.append(contentsOf: value.utf8)
        count += 1
    }

    mutating func append(_ value: [UInt8]?) {
        guard let value else { return appendNull() }
        contents.append(bigEndian: Int32(value.count))
        contents.append(contentsOf: value)
        count += 1
    }

    mutating func append(_ value: Bool) {
        contents.append(bigEndian: 1 as Int32)
        contents.append(value ? 1 : 0)
        count += 1
    }

    private mutating func appendNull() {
        contents.append(bigEndian: -1 as Int32)
        hasNull = true
        count += 1
    }

    /// The array: one dimension whose first index is 1.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(20 + contents.count)
        bytes.append(bigEndian: (count == 0 ? 0 : 1) as Int32)
        bytes.append(bigEndian: (hasNull ? 1 : 0) as Int32)
        bytes.append(bigEndian: element.rawValue)
        if count > 0 {
            bytes.append(bigEndian: count)
            bytes.append(bigEndian: 1 as Int32)
            bytes.append(contentsOf: contents)
        }
        return bytes
    }

    /// An array of names.
    static func texts(_ texts: some Sequence<String>) -> ArrayParameter {
        var array = ArrayParameter(of: .text)
        for text in texts { array.append(text) }
        return array
    }

    /// An array of numbers of jobs or places.
    static func numbers(_ numbers: some Sequence<some BinaryInteger>) -> ArrayParameter {
        var array = ArrayParameter(of: .bigint)
        for number in numbers { array.append(Int64(clamping: number)) }
        return array
    }
}

extension [UInt8] {
    /// Appends a number, its highest byte first.
    mutating func append(bigEndian value: some FixedWidthInteger) {
        // SAFETY: the bytes of a value on the stack are copied before it ends. Byte by byte, the
        // numbers of a job took a third of the thread's instructions.
        unsafe Swift.withUnsafeBytes(of: value.bigEndian) { unsafe append(contentsOf: $0) }
    }

    /// Appends three numbers at once.
    fileprivate mutating func append(bigEndian words: (UInt32, UInt32, UInt32)) {
        let bytes = (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian)
        // SAFETY: as above; the elements of a tuple of one type have no gaps.
        unsafe Swift.withUnsafeBytes(of: bytes) { unsafe append(contentsOf: $0) }
    }
}
