// Proves that a transaction's addition to the log is one write of whole frames, synced or not, and
// that frames which do not fit into one are a few. That they are with the kernel when the
// transaction has returned is proved by UnsyncedTests.

import Jobs
import Kernel
import SQLiteJobs
import Support
import Testing

@Suite struct GatheredLogTests {
    private let disk: FaultyDisk
    private let store: SQLiteStore

    init() throws {
        disk = try FaultyDisk()
        store = try SQLiteStore(path: disk.directory.database)
        try accept(1...1)
        disk.record()
    }

    private func accept(_ ids: ClosedRange<UInt64>, isSynced: Bool = true) throws {
        try store.transaction(at: 1_000, isSynced: isSynced) { () throws(StoreFault) in
            for id in ids { try store.accept(.sample(id)) }
        }
    }

    private var writes: [FaultyDisk.Event] {
        disk.events().filter { $0.call == .write && $0.file == 1 }
    }

    /// The header and the page.
    private let frameByteCount = 24 + 4_096

    @Test(arguments: [true, false])
    func `a transaction is one write of whole frames`(isSynced: Bool) throws {
        try accept(2...2, isSynced: isSynced)
        try #require(writes.count == 1)
        #expect(writes[0].bytes.count % frameByteCount == 0)
        try accept(3...66, isSynced: isSynced)
        try #require(writes.count == 2)
        #expect(writes[1].bytes.count % frameByteCount == 0)
        #expect(writes[1].offset == writes[0].offset + writes[0].bytes.count)
        #expect(disk.events().contains { $0.call == .sync } == isSynced)
    }

    @Test func `a larger transaction is a few writes of whole frames`() throws {
        try accept(2...4_000)
        let byteCount = writes.reduce(0) { $0 + $1.bytes.count }
        #expect(byteCount % frameByteCount == 0)
        #expect((2...byteCount / frameByteCount / 4).contains(writes.count))
    }

    @Test func `a failed write fails its transaction, and the next one is whole`() throws {
        disk.fail([.write], from: 1, count: 1, .error)
        #expect(throws: StoreFault.self) { try accept(2...66) }
        disk.heal()
        try accept(100...164)
        let live = try Contents(of: store).live
        #expect(Set(live.keys) == Set([1] + Array(100...164)))
        let copy = try StoreDirectory(in: StoreDirectory.memory)
        for suffix in ["", "-wal"] {
            let bytes = try File.read(disk.directory.database + suffix, atMost: 64 << 20)
            try File.write(bytes, to: copy.database + suffix)
        }
        #expect(try Contents(of: try copy.openForScript()).live == live)
    }
}
