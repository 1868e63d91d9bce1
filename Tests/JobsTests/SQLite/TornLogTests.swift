// Cuts the log of the store at any byte, as a power cut may: what was acknowledged before is there.

import Jobs
import Kernel
import Support
import Testing

@Suite struct `A store whose log was cut off` {
    /// How large the log was when each job was acknowledged, and the files as they were then.
    private struct Recording {
        var database: [UInt8] = []
        var log: [UInt8] = []
        var sizes: [Int] = []
    }

    private func record(jobs: Int) throws -> Recording {
        let directory = try StoreDirectory()
        let store = try directory.open()
        var recording = Recording()
        for number in 1...UInt64(jobs) {
            let payload = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 600)
            try store.accept(all: [.sample(number, payload: payload)])
            recording.log = try File.read(directory.database + "-wal", atMost: 64 << 20)
            recording.sizes.append(recording.log.count)
        }
        // Read while it is open: closing it would move the log into the database.
        recording.database = try File.read(directory.database, atMost: 64 << 20)
        return recording
    }

    @Test func `holds what was acknowledged, whichever byte was the last`() throws {
        let recording = try record(jobs: 12)
        #expect(Set(recording.sizes).count == 12, "each commit is in the log when it returns")
        var cuts: Set<Int> = []
        for size in recording.sizes { cuts.formUnion([size - 1, size, size + 1, size + 24]) }
        cuts.formUnion(stride(from: recording.sizes[0], through: recording.log.count, by: 197))
        // All of the last commit, as closely as time allows.
        cuts.formUnion(stride(from: recording.sizes[10], through: recording.log.count, by: 41))
        for cut in cuts.sorted() where cut >= recording.sizes[0] && cut <= recording.log.count {
            let acknowledged = recording.sizes.count { $0 <= cut }
            let directory = try StoreDirectory()
            try File.write(recording.database, to: directory.database)
            try File.write(Array(recording.log.prefix(cut)), to: directory.database + "-wal")
            let store = try directory.open()
            let found = try store.waiting()
            #expect(found == Array(1...UInt64(acknowledged)), "cut at byte \(cut)")
            let payload = try store.job(JobID(UInt64(acknowledged)))?.payload
            #expect(payload?.count == 600, "cut at byte \(cut)")
        }
    }

    @Test func `ignores noise behind what was acknowledged`() throws {
        let recording = try record(jobs: 4)
        for start in stride(from: recording.sizes[2], to: recording.log.count, by: 151) {
            var log = recording.log
            for index in start..<log.count { log[index] = UInt8(truncatingIfNeeded: index &* 37) }
            let directory = try StoreDirectory()
            try File.write(recording.database, to: directory.database)
            try File.write(log, to: directory.database + "-wal")
            let found = try directory.open().waiting()
            #expect(found == [1, 2, 3], "noise from byte \(start)")
        }
    }
}
