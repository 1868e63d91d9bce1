// Proves that a log without its database, or beside a damaged one, stays as it is, and the file as
// well, so that the right file can still be put beside the log.

import Jobs
import SQLiteJobs
import Kernel
import Support
import Testing

@Suite struct `A store that is not what its log belongs to` {
    /// The files of a crash: a database of some size, and a log that is not part of it yet.
    private func crashed() throws -> StoreDirectory {
        let (directory, left) = (try StoreDirectory(), try StoreDirectory())
        let payload = [UInt8](repeating: 7, count: 3_000)
        try directory.open().accept(all: (1...200).map { .sample($0, payload: payload) })
        let store = try directory.open()
        try store.accept(all: [.sample(201)])
        for end in ["", "-wal"] {
            let bytes = try File.read(directory.database + end, atMost: 1 << 24)
            try File.write(bytes, to: left.database + end)
        }
        return left
    }

    private static func noise(_ range: Range<Int>) -> ([UInt8]) -> [UInt8]? {
        { bytes in
            var bytes = bytes
            for place in range.clamped(to: 0..<bytes.count) { bytes[place] = 0xA5 }
            return bytes
        }
    }

    struct Damage: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let kind: StoreFault.Kind
        /// The replacement of the database; nil for none.
        let made: @Sendable ([UInt8]) -> [UInt8]?
    }

    static let damages = [
        Damage(testDescription: "missing", kind: .incomplete) { _ in nil },
        Damage(testDescription: "empty", kind: .incomplete) { _ in [] },
        Damage(testDescription: "a beginning of noise", kind: .incomplete) { bytes in
            noise(0..<100)(bytes)
        },
        Damage(testDescription: "less than a header", kind: .incomplete) { bytes in
            Array(bytes.prefix(50))
        },
        Damage(testDescription: "its first page alone", kind: .incomplete) { bytes in
            Array(bytes.prefix(4_096))
        },
        Damage(testDescription: "of another program", kind: .incomplete) { bytes in
            bytes[..<68] + [1, 2, 3, 4] + bytes[72...]
        },
        Damage(testDescription: "noise behind its first page", kind: .corrupt) { bytes in
            noise(4_096..<bytes.count)(bytes)
        },
    ]

    @Test(arguments: damages)
    func `is refused, and both stay as they are`(damage: Damage) throws {
        let directory = try crashed()
        let log = directory.database + "-wal"
        let whole = try File.read(directory.database, atMost: 1 << 24)
        let made = damage.made(whole)
        if let made {
            try File.write(made, to: directory.database)
        } else {
            try File.remove(directory.database)
        }
        let logBefore = try File.read(log, atMost: 1 << 24)
        let names = try Directory.names(in: directory.path).sorted()
        let fault = try #require(directory.fault())
        #expect(fault.kind == damage.kind, "\(fault)")
        #expect(fault.description.contains(log), "\(fault)")
        #expect(try Directory.names(in: directory.path).sorted() == names)
        if let made { #expect(try File.read(directory.database, atMost: 1 << 24) == made) }
        #expect(try File.read(log, atMost: 1 << 24) == logBefore)
        // With the right file beside it, everything is there.
        try File.write(whole, to: directory.database)
        #expect(try directory.open().waiting().count == 201)
    }

    @Test func `begins anew when the log is moved away`() throws {
        let directory = try crashed()
        try File.remove(directory.database)
        try File.rename(directory.database + "-wal", to: directory.file("elsewhere"))
        #expect(try directory.open().waiting() == [])
    }

    @Test func `is its own when all of it is in the log`() throws {
        let (directory, left) = (try StoreDirectory(), try StoreDirectory())
        let store = try directory.open()
        try store.accept(all: [.sample(1)])
        for end in ["", "-wal"] {
            let bytes = try File.read(directory.database + end, atMost: 1 << 24)
            try File.write(bytes, to: left.database + end)
        }
        #expect(try left.open().waiting() == [1])
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `says so when whole transactions of its log can't be read`(seed: UInt64) throws {
        let (directory, left) = (try StoreDirectory(), try StoreDirectory())
        var random = SeededRandom(seed: seed)
        let store = try directory.open()
        let count: UInt64 = 12
        for number in 1...count { try store.accept(all: [.sample(number)]) }
        for end in ["", "-wal"] {
            var bytes = try File.read(directory.database + end, atMost: 1 << 24)
            if end != "" {
                let place = Int.random(in: 32..<bytes.count, using: &random)
                bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
            try File.write(bytes, to: left.database + end)
        }
        let opened = try left.open()
        let lostCount = Int(count) - (try opened.waiting().count)
        // The last one may have been torn, and a frame's number of pages tells whether it is a
        // commit.
        let damage = opened.logDamage?.commitCount ?? 0
        #expect(lostCount >= damage)
        #expect(lostCount <= 2 || damage > 0)
    }

    @Test func `says nothing of a log that is whole, or torn at its end`() throws {
        let (directory, left) = (try StoreDirectory(), try StoreDirectory())
        let store = try directory.open()
        for number in 1...5 as ClosedRange<UInt64> { try store.accept(all: [.sample(number)]) }
        let log = try File.read(directory.database + "-wal", atMost: 1 << 24)
        try File.write(
            try File.read(directory.database, atMost: 1 << 24), to: left.database)
        for byteCount in stride(from: log.count, to: 0, by: -1_000) {
            try File.write(Array(log.prefix(byteCount)), to: left.database + "-wal")
            #expect(try left.open().logDamage == nil)
        }
    }
}
