// Proves the size of the log beside the database after a large burst.

import Glibc
import Jobs
import SQLiteJobs
import Support
import Testing

@Suite struct `The log of a store` {
    /// The size of a file as the kernel has it.
    private func byteCount(_ path: String) throws -> Int {
        var status = stat()
        try #require(unsafe stat(path, &status) == 0)
        return Int(status.st_size)
    }

    @Test func `is not larger than usual once what was in it is in the database`() throws {
        let directory = try StoreDirectory()
        let store = try directory.open()
        let log = directory.database + "-wal"
        let payload = [UInt8](repeating: 7, count: 5 << 20)
        try store.accept(all: (1...6).map { .sample($0, payload: payload) })
        #expect(try byteCount(log) > 30 << 20)
        // The first transaction after the log starts over.
        try store.accept(all: [.sample(7)])
        #expect(try byteCount(log) == SQLiteStore.logByteCountKept)
        try store.accept(all: [.sample(8)])
        #expect(try store.waiting() == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(try store.job(JobID(6))?.payload == payload)
    }

    @Test func `keeps the size that it usually has`() throws {
        let directory = try StoreDirectory()
        let store = try directory.open()
        let log = directory.database + "-wal"
        // Rather more than the log holds before it is moved into the database.
        let payload = [UInt8](repeating: 7, count: 6 << 20)
        try store.accept(all: [.sample(1, payload: payload)])
        let grown = try byteCount(log)
        #expect(grown > payload.count)
        for number in 2...20 as ClosedRange<UInt64> { try store.accept(all: [.sample(number)]) }
        // The log is rewritten in the same place, which is faster.
        #expect(try byteCount(log) == grown)
    }
}
