// Values in bytes, one after another: numbers in as few bytes as they need, and byte strings behind
// their length. What is read may be damaged: then it ends early, and never outside.

/// Writes values one after another.
struct RecordWriter {
    /// What has been written.
    private(set) var bytes: [UInt8]

    init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    /// Begins anew, in the same memory.
    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    /// Writes what another has written.
    mutating func append(_ other: RecordWriter) { bytes.append(contentsOf: other.bytes) }

    /// Writes a number, seven bits to a byte, the lowest first.
    mutating func write(_ number: UInt64) {
        var left = number
        while left >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: left) | 0x80)
            left >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: left))
    }

    /// Writes a number that may be negative; small ones of either sign are short.
    mutating func write(_ number: Int64) {
        write(UInt64(bitPattern: number << 1 ^ number >> 63))
    }

    mutating func write(_ value: [UInt8]) {
        write(UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    mutating func write(_ text: String) {
        let text = text.utf8
        write(UInt64(text.count))
        bytes.append(contentsOf: text)
    }
}

/// The bytes of a record are not those of one.
struct DamagedRecord: Error {}

/// Reads what a `RecordWriter` has written.
struct RecordReader {
    private let bytes: [UInt8]
    /// Where the next value begins.
    private(set) var place: Int

    init(_ bytes: [UInt8], at place: Int = 0) {
        self.bytes = bytes
        self.place = place
    }

    var isAtEnd: Bool { place >= bytes.count }

    mutating func number() throws(DamagedRecord) -> UInt64 {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while place < bytes.count, shift < 64 {
            let byte = bytes[place]
            place += 1
            number |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return number }
            shift += 7
        }
        throw DamagedRecord()
    }

    mutating func signedNumber() throws(DamagedRecord) -> Int64 {
        let number = try number()
        return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
    }

    mutating func count() throws(DamagedRecord) -> Int {
        let count = try number()
        guard count <= UInt64(bytes.count - place) else { throw DamagedRecord() }
        return Int(count)
    }

    mutating func byteString() throws(DamagedRecord) -> [UInt8] {
        let count = try count()
        defer { place += count }
        return Array(bytes[place..<place + count])
    }

    mutating func text() throws(DamagedRecord) -> String {
        let count = try count()
        defer { place += count }
        return String(decoding: bytes[place..<place + count], as: UTF8.self)
    }

    /// Goes on behind so many bytes, which are there.
    mutating func advance(_ count: Int) { place += count }

    /// Goes behind a byte string without looking at it.
    ///
    /// - Returns: its length.
    mutating func skip() throws(DamagedRecord) -> Int {
        let count = try count()
        place += count
        return count
    }
}
