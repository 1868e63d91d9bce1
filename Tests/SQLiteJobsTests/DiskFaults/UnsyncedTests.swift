// Proves that a transaction is with the kernel when it has returned, synced or not: then a crash of
// the process loses nothing of it.

import Jobs
import Kernel
import SQLiteJobs
import Support
import Testing

@Suite struct UnsyncedTests {
    @Test(arguments: [true, false], [66, 4_000])
    func `a transaction is in the file's log when it has returned`(
        isSynced: Bool, jobCount: UInt64
    ) throws {
        let disk = try FaultyDisk()
        let store = try SQLiteStore(path: disk.directory.database)
        disk.record()
        try store.transaction(at: 1_000, isSynced: isSynced) { () throws(StoreFault) in
            for id in 1...jobCount { try store.accept(.sample(id)) }
        }
        #expect(disk.events().contains { $0.call == .sync } == isSynced)
        // As a crash leaves it.
        let copy = try StoreDirectory(in: StoreDirectory.memory)
        for suffix in ["", "-wal"] {
            let bytes = try File.read(disk.directory.database + suffix, atMost: 64 << 20)
            try File.write(bytes, to: copy.database + suffix)
        }
        let (found, expected) = (
            try Contents(of: try copy.openForScript()), try Contents(of: store)
        )
        #expect(found.live == expected.live)
        #expect(found.live.count == Int(jobCount))
    }
}
