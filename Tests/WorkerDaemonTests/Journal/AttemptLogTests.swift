// The ring of attempts as a process leaves it that dies at any moment: whole entries count, and only these.

import Kernel
import Support
import Testing
import WorkerDaemon

@Suite(.timeLimit(.minutes(20)))
struct AttemptLogTests {
    let directory: TestDirectory
    let path: String
    let log: AttemptLog

    init() throws {
        directory = try TestDirectory()
        path = directory.file("attempts")
        log = try AttemptLog(path)
    }

    @Test func `what was noted is read while the process that noted it lives`() throws {
        for size in 0...AttemptLog.resultByteCountMax {
            let id = UInt64(size + 1)
            log.noteStart(id, attempt: size + 1)
            log.noteDone(id, attempt: size + 1, result: result(size))
        }
        log.noteStart(1_000, attempt: 3)
        log.noteStart(1_000, attempt: 2)
        let entries = AttemptLog.read(path)
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
        let other = try AttemptLog(path)
        log.clear()
        #expect(try File.kind(of: path) != nil)
        other.clear()
        #expect(try File.kind(of: path) == nil)
    }

    @Test func `a result that is too large is not noted`() {
        log.noteStart(5, attempt: 1)
        log.noteDone(5, attempt: 1, result: result(AttemptLog.resultByteCountMax + 1))
        #expect(AttemptLog.read(path)[5]?.attempt == 1)
        #expect(AttemptLog.read(path)[5]?.result == nil)
    }

    @Test func `an entry with any word missing or any bit changed is none`() throws {
        log.noteStart(7, attempt: 1)
        log.noteDone(8, attempt: 2, result: result(61))
        let whole = Array(try File.read(path, atMost: .max).prefix(1 << 16))
        let entryByteCount = AttemptLog.entryWordCount * 8
        let usedByteCount = 8 * (3 + 8)
        for place in 0..<usedByteCount {
            for bit in 0..<8 {
                var torn = whole
                torn[entryByteCount + place] ^= 1 << UInt8(bit)
                try expectOnlyFirst(torn)
            }
        }
        for word in 0..<usedByteCount / 8 {
            var torn = whole
            let first = entryByteCount + word * 8
            torn.replaceSubrange(first..<first + 8, with: repeatElement(0, count: 8))
            try expectOnlyFirst(torn)
        }
    }

    @Test func `an entry over another of before is the new one or none`() throws {
        for id in 1...UInt64(AttemptLog.count) { log.noteDone(id, attempt: 1, result: result(40)) }
        let before = try File.read(path, atMost: .max)
        log.noteStart(77_777, attempt: 4)
        let after = try File.read(path, atMost: .max)
        let entries = AttemptLog.read(path)
        #expect(entries[1] == nil)
        #expect(entries[2]?.result == result(40))
        #expect(entries[77_777]?.attempt == 4)
        #expect(entries.count == AttemptLog.count)
        // The process dies before each of its stores: the seal goes first and comes last.
        for storedCount in 0..<3 {
            var torn = before
            torn.replaceSubrange(0..<8, with: repeatElement(0, count: 8))
            let range = 8..<8 + 8 * storedCount
            torn.replaceSubrange(range, with: after[range])
            try File.write(torn, to: directory.file("torn"))
            let left = AttemptLog.read(directory.file("torn"))
            #expect(left.count == AttemptLog.count - 1)
            #expect(left[1] == nil && left[77_777] == nil)
        }
    }

    @Test func `what was cleared, and a file that is none, tell nothing`() throws {
        log.noteStart(9, attempt: 1)
        log.clear()
        // A thread that is late harms nothing.
        log.noteDone(9, attempt: 1, result: [1])
        #expect(AttemptLog.read(path).isEmpty)
        for size in [0, 1, 127, 4_096] {
            try File.write([UInt8](repeating: 0xff, count: size), to: path)
            #expect(AttemptLog.read(path).isEmpty)
        }
    }

    private func result(_ size: Int) -> [UInt8] { (0..<size).map { UInt8($0 & 0xff) | 1 } }

    private func expectOnlyFirst(_ bytes: [UInt8]) throws {
        let path = directory.file("torn")
        try File.write(bytes, to: path)
        let entries = AttemptLog.read(path)
        #expect(entries.count == 1)
        #expect(entries[7]?.attempt == 1)
    }
}
