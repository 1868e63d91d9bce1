// Proves that an attempt log of a process that died at any moment has its whole entries, and only
// these.

import Jobs
import Journals
import Kernel
import Support
import Testing
import SQLiteJobs

@Suite(.timeLimit(.minutes(2)))
struct AttemptLogTests {
    let directory: TestDirectory
    let path: String
    let log: AttemptLog

    init() throws {
        directory = try TestDirectory()
        path = directory.file("attempts")
        log = try AttemptLog(path, mark: 5)
    }

    @Test func `what was noted is read while the process that noted it lives`() throws {
        for size in 0...AttemptLog.resultByteCountMax {
            let id = UInt64(size + 1)
            log.noteStart(id, attempt: size + 1)
            log.noteDone(id, attempt: size + 1, result: result(size))
        }
        log.noteStart(1_000, attempt: 3)
        log.noteStart(1_000, attempt: 2)
        let entries = try self.entries(path)
        for size in 0...AttemptLog.resultByteCountMax {
            let entry = try #require(entries[UInt64(size + 1)])
            #expect(entry.attempt == size + 1)
            #expect(entry.result == result(size))
        }
        #expect(entries[1_000]?.attempt == 3)
        #expect(entries[1_000]?.result == nil)
        #expect(try File.mode(of: path) == File.ownerOnly)
    }

    @Test func `it is removed when all is known, another one in its place is not`() throws {
        try File.remove(path)
        let other = try AttemptLog(path, mark: 5)
        log.clear()
        #expect(try File.kind(of: path) != nil)
        other.clear()
        #expect(try File.kind(of: path) == nil)
    }

    @Test func `a result that is too large is not noted`() throws {
        log.noteStart(5, attempt: 1)
        log.noteDone(5, attempt: 1, result: result(AttemptLog.resultByteCountMax + 1))
        #expect(try entries(path)[5]?.attempt == 1)
        #expect(try entries(path)[5]?.result == nil)
    }

    @Test func `an entry with any word missing or any bit changed is none`() throws {
        log.noteStart(7, attempt: 1)
        log.noteDone(8, attempt: 2, result: result(61))
        let whole = Array(try File.read(path, atMost: .max).prefix(1 << 16))
        let entryByteCount = AttemptLog.entryWordCount * 8
        // Behind the mark and the first one.
        let second = 2 * entryByteCount
        let usedByteCount = 8 * (3 + 8)
        for place in 0..<usedByteCount {
            for bit in 0..<8 {
                var torn = whole
                torn[second + place] ^= 1 << UInt8(bit)
                try expectOnlyFirst(torn)
            }
        }
        for word in 0..<usedByteCount / 8 {
            var torn = whole
            let first = second + word * 8
            torn.replaceSubrange(first..<first + 8, with: repeatElement(0, count: 8))
            try expectOnlyFirst(torn)
        }
    }

    @Test func `an entry over another of before is the new one or none`() throws {
        for id in 1...UInt64(AttemptLog.count) { log.noteDone(id, attempt: 1, result: result(40)) }
        let before = try File.read(path, atMost: .max)
        log.noteStart(77_777, attempt: 4)
        let after = try File.read(path, atMost: .max)
        let entries = try self.entries(path)
        #expect(entries[1] == nil)
        #expect(entries[2]?.result == result(40))
        #expect(entries[77_777]?.attempt == 4)
        #expect(entries.count == AttemptLog.count)
        // The process dies before each of its stores: the seal goes first and comes last.
        let first = AttemptLog.entryWordCount * 8
        for storedCount in 0..<3 {
            var torn = before
            torn.replaceSubrange(first..<first + 8, with: repeatElement(0, count: 8))
            let range = first + 8..<first + 8 + 8 * storedCount
            torn.replaceSubrange(range, with: after[range])
            try File.write(torn, to: directory.file("torn"))
            let left = try self.entries(directory.file("torn"))
            #expect(left.count == AttemptLog.count - 1)
            #expect(left[1] == nil && left[77_777] == nil)
        }
    }

    @Test func `what was cleared tells nothing, nor does what is noted there later`() throws {
        log.noteStart(9, attempt: 1)
        log.clear()
        // A late thread does no harm.
        log.noteDone(9, attempt: 1, result: [1])
        #expect(try AttemptLog.look(at: path) == .nothing)
    }

    @Test func `it is known by its mark, and without one by its size and its entries`() throws {
        #expect(try AttemptLog.look(at: path) == .ring(mark: 5, [:]))
        log.noteDone(8, attempt: 2, result: result(61))
        let noted = try entries(path)
        #expect(noted[8]?.result == result(61))
        #expect(try AttemptLog.look(at: path) == .ring(mark: 5, noted))
        let whole = try File.read(path, atMost: .max)
        let entryByteCount = AttemptLog.entryWordCount * 8
        let (unmarked, torn) = (directory.file("unmarked"), directory.file("torn"))
        // As it was before there were marks; and with a mark that no power cut has left.
        try File.write(Array(whole[entryByteCount...]), to: unmarked)
        #expect(try AttemptLog.look(at: unmarked) == .ring(mark: 0, noted))
        let zeros = [UInt8](repeating: 0, count: entryByteCount)
        try File.write(zeros + whole[entryByteCount...], to: torn)
        #expect(try AttemptLog.look(at: torn) == .ring(mark: 0, noted))
        // The rest of a crash from before there was a mark.
        for size in [0, 8, 4_096, whole.count] {
            try File.write([UInt8](repeating: 0, count: size), to: torn)
            #expect(try AttemptLog.look(at: torn) == .nothing)
        }
    }

    @Test func `a file that is none is refused and stays`() throws {
        let unmarkedByteCount = AttemptLog.byteCount - AttemptLog.entryWordCount * 8
        for size in [
            1, 127, 4_096, unmarkedByteCount, AttemptLog.byteCount, AttemptLog.byteCount + 1,
        ] {
            let bytes = [UInt8](repeating: 0xff, count: size)
            try File.write(bytes, to: directory.file("other"))
            let fault = #expect(throws: StoreFault.self) {
                try AttemptLog.look(at: directory.file("other"))
            }
            #expect(fault?.kind == .inTheWay)
            #expect(throws: SystemError.self) { try AttemptLog(directory.file("other"), mark: 1) }
            #expect(try File.read(directory.file("other"), atMost: .max) == bytes)
        }
    }

    @Test func `another store's file gets a name that is free`() throws {
        try File.write([1], to: path + ".foreign-1")
        log.noteStart(9, attempt: 1)
        #expect(try AttemptLog.setAside(path) == path + ".foreign-2")
        #expect(try AttemptLog.look(at: path) == .nothing)
        #expect(try entries(path + ".foreign-2")[9]?.attempt == 1)
        #expect(try File.read(path + ".foreign-1", atMost: 9) == [1])
    }

    private func entries(_ path: String) throws -> [UInt64: AttemptLog.Entry] {
        guard case .ring(_, let entries) = try AttemptLog.look(at: path) else { return [:] }
        return entries
    }

    private func result(_ size: Int) -> [UInt8] { (0..<size).map { UInt8($0 & 0xff) | 1 } }

    private func expectOnlyFirst(_ bytes: [UInt8]) throws {
        let path = directory.file("torn")
        try File.write(bytes, to: path)
        let entries = try self.entries(path)
        #expect(entries.count == 1)
        #expect(entries[7]?.attempt == 1)
    }
}
