// Values in bytes, one after another: numbers in as few bytes as they need, and byte strings behind
// their length. The bytes read may be damaged: reading then ends early, and never outside them.

internal import Jobs

/// Writes a record: the values of one job, one after another, and the pack's head in front.
struct RecordWriter {
    /// The largest size of a number.
    static let numberByteCountMax = 10

    /// Room for a number and a size, then for the record, then unused.
    private var memory = [UInt8](repeating: 0, count: 512)
    private var end = headByteCountMax
    private static let headByteCountMax = 2 * numberByteCountMax

    /// The size of the record.
    var count: Int { end - Self.headByteCountMax }

    /// Writes another record in place of the one before.
    ///
    /// - Parameters:
    ///   - byteCountMax: the largest size of the record.
    ///   - body: writes at the place it is given, and moves the place behind the written bytes.
    mutating func write(
        atMost byteCountMax: Int, _ body: (inout MutableSpan<UInt8>, inout Int) -> Void
    ) {
        let size = Self.headByteCountMax + byteCountMax
        if memory.count < size { memory = [UInt8](repeating: 0, count: size) }
        var place = Self.headByteCountMax
        var span = memory.mutableSpan
        body(&span, &place)
        end = place
    }

    /// The record behind a number and its size.
    mutating func behind(_ id: UInt64) -> ArraySlice<UInt8> {
        let size = UInt64(count)
        let start = Self.headByteCountMax - Self.byteCount(of: id) - Self.byteCount(of: size)
        var place = start
        var span = memory.mutableSpan
        span.write(id, at: &place)
        span.write(size, at: &place)
        return memory[start..<end]
    }

    private static func byteCount(of number: UInt64) -> Int {
        (70 - (number | 1).leadingZeroBitCount) / 7
    }
}

extension MutableSpan where Element == UInt8 {
    /// Writes a number, seven bits to a byte, the lowest first.
    mutating func write(_ number: UInt64, at place: inout Int) {
        var left = number
        while left >= 0x80 {
            self[place] = UInt8(truncatingIfNeeded: left) | 0x80
            place += 1
            left >>= 7
        }
        self[place] = UInt8(truncatingIfNeeded: left)
        place += 1
    }

    /// Writes a number that may be negative; small ones of either sign are short.
    mutating func write(_ number: Int64, at place: inout Int) {
        write(UInt64(bitPattern: number << 1 ^ number >> 63), at: &place)
    }

    /// Writes a byte string behind its length.
    mutating func write(_ value: Span<UInt8>, at place: inout Int) {
        write(UInt64(value.count), at: &place)
        copy(value, at: &place)
    }

    /// Copies bytes unchanged.
    mutating func copy(_ bytes: Span<UInt8>, at place: inout Int) {
        guard !bytes.isEmpty else { return }
        precondition(bytes.count <= count - place, "a record is as long as was said")
        unsafe withUnsafeMutableBytes { memory in
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe memory[place...].copyBytes(from: bytes)
            }
        }
        place += bytes.count
    }
}

/// The error of bytes that are not a record.
struct DamagedRecord: Error {}

/// Reads the values of a `RecordWriter`.
struct RecordReader {
    let bytes: [UInt8]
    /// The place of the next value.
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

    /// Skips a number of bytes, which must be there.
    mutating func advance(_ count: Int) { place += count }

    /// Skips a byte string.
    ///
    /// - Returns: its length.
    mutating func skip() throws(DamagedRecord) -> Int {
        let count = try count()
        place += count
        return count
    }
}
