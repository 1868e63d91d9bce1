// The files of /usr/share/zoneinfo: bytes in, rules out. Every count in a file is checked before
// use.

extension TimeZoneRules {
    /// The largest file that is read.
    package static let fileByteCountMax = 1 << 20

    /// Reads a zone's file.
    ///
    /// - Throws: why it is none, or not one that can be used.
    /// - Source: RFC 9636, The Time Zone Information Format (TZif).
    package init(file bytes: [UInt8]) throws(ScheduleFault) {
        let first = try TimeZoneHeader(bytes, at: 0)
        guard first.version >= 2 else {
            throw ScheduleFault(
                "is a time zone file of version 1; install the present ones (tzdata)")
        }
        let start = TimeZoneHeader.byteCount + first.bodyByteCount(timeByteCount: 4)
        let header = try TimeZoneHeader(bytes, at: start)
        guard header.leapCount == 0 else {
            throw ScheduleFault("counts leap seconds: take the zone without 'right/'")
        }
        let body = start + TimeZoneHeader.byteCount
        let end = body + header.bodyByteCount(timeByteCount: 8)
        guard end < bytes.count, header.typeCount > 0 else { throw TimeZoneHeader.fault }
        let indexes = body + header.timeCount * 8
        let types = indexes + header.timeCount
        func offset(ofType type: Int) throws(ScheduleFault) -> Int64 {
            guard type < header.typeCount else { throw TimeZoneHeader.fault }
            let bits = TimeZoneHeader.number(bytes, at: types + type * 6, byteCount: 4)
            let offset = Int64(Int32(truncatingIfNeeded: bits))
            guard abs(offset) < Self.offsetMax else { throw TimeZoneHeader.fault }
            return offset
        }
        var changes: [Change] = []
        changes.reserveCapacity(header.timeCount)
        for index in 0..<header.timeCount {
            let bits = TimeZoneHeader.number(bytes, at: body + index * 8, byteCount: 8)
            let moment = Int64(bitPattern: bits)
            if let last = changes.last, last.moment >= moment { throw TimeZoneHeader.fault }
            changes.append(
                Change(
                    moment: moment, offset: try offset(ofType: Int(bytes[indexes + index]))))
        }
        self.init(
            firstOffset: try offset(ofType: 0), changes: changes,
            rule: try Self.rule(bytes[end...]))
    }

    private static func rule(_ footer: ArraySlice<UInt8>) throws(ScheduleFault) -> PosixTimeZone? {
        let newline = UInt8(ascii: "\n")
        guard footer.first == newline, let end = footer.dropFirst().firstIndex(of: newline) else {
            throw TimeZoneHeader.fault
        }
        let text = Array(footer[footer.startIndex + 1..<end])
        return text.isEmpty ? nil : try PosixTimeZone(text)
    }
}

/// The header of each of the two parts of a file.
private struct TimeZoneHeader {
    static let byteCount = 44
    static let fault = ScheduleFault("is not a time zone file, or damaged")

    let version: Int
    let timeCount: Int
    let typeCount: Int
    let leapCount: Int
    private let indicatorCount: Int
    private let nameByteCount: Int

    init(_ bytes: [UInt8], at start: Int) throws(ScheduleFault) {
        guard start + Self.byteCount <= bytes.count,
            bytes[start..<start + 4].elementsEqual("TZif".utf8)
        else { throw Self.fault }
        let digit = bytes[start + 4]
        version = digit == 0 ? 1 : Int(digit) - Int(UInt8(ascii: "0"))
        func count(_ index: Int) -> Int {
            Int(Self.number(bytes, at: start + 20 + index * 4, byteCount: 4))
        }
        indicatorCount = count(0) + count(1)
        leapCount = count(2)
        timeCount = count(3)
        typeCount = count(4)
        nameByteCount = count(5)
        // No multiplication below can overflow then.
        guard bodyByteCount(timeByteCount: 4) <= bytes.count else { throw Self.fault }
    }

    func bodyByteCount(timeByteCount: Int) -> Int {
        timeCount * (timeByteCount + 1) + typeCount * 6 + nameByteCount
            + leapCount * (timeByteCount + 4) + indicatorCount
    }

    static func number(_ bytes: [UInt8], at start: Int, byteCount: Int) -> UInt64 {
        bytes[start..<start + byteCount].reduce(0) { $0 << 8 | UInt64($1) }
    }
}
