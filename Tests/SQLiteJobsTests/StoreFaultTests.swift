// Proves that a wrong or damaged file is named, explained and left as it is.

import Jobs
import SQLiteJobs
import Kernel
import Support
import Testing

@Suite struct `A store in a file that will not do` {
    @Test func `a text is no database, and stays as it is`() throws {
        let directory = try StoreDirectory()
        let text = Array(String(repeating: "precious words ", count: 100).utf8)
        try File.write(text, to: directory.database)
        let fault = try #require(directory.fault())
        #expect(fault.kind == .foreign)
        #expect(fault.description.hasPrefix("\(directory.database): it is no SQLite database"))
        #expect(try File.read(directory.database, atMost: 1 << 20) == text)
    }

    @Test func `a database of another program is left alone`() throws {
        let directory = try StoreDirectory()
        // A store without the mark of this program: foreign tables.
        _ = try directory.open()
        var bytes = try File.read(directory.database, atMost: 1 << 20)
        // The application id is at byte 68 of the header (www.sqlite.org/fileformat.html).
        bytes.replaceSubrange(68..<72, with: [1, 2, 3, 4])
        try File.write(bytes, to: directory.database)
        let fault = try #require(directory.fault())
        #expect(fault.kind == .foreign)
        #expect(fault.description.contains("a database of another program"))
        #expect(try File.read(directory.database, atMost: 1 << 20) == bytes)
    }

    @Test func `a database of a later version says so, and of this one still opens`() throws {
        let directory = try StoreDirectory()
        let later = Schema.current.followed(by: ["CREATE TABLE more (a INTEGER)"])
        try directory.open(schema: later).accept(all: [.sample(1)])
        let fault = try #require(directory.fault())
        #expect(fault.kind == .newer)
        #expect(fault.description.contains("of workerd (schema \(later.version),"))
        let opened = try directory.open(schema: later)
        #expect(try opened.waiting() == [1])
    }

    @Test func `an older version is brought up to date with its jobs`() throws {
        let directory = try StoreDirectory()
        try directory.open().accept(all: [.sample(1), .sample(2)])
        let later = Schema.current
            .followed(by: ["ALTER TABLE jobs ADD COLUMN more INTEGER NOT NULL DEFAULT 5"])
            .followed(by: ["UPDATE jobs SET priority = 0 WHERE more = 5"])
            .followed(by: ["UPDATE packs SET priority = 0"])
        let store = try directory.open(schema: later)
        #expect(try store.waiting("mail", .high) == [1, 2])
        #expect(store.nextNumber == 3)
    }

    @Test func `a file of the oldest version is brought up to date with what is held in it`() throws
    {
        let directory = try StoreDirectory()
        directory.makeOldestVersion(
            StoreDirectory.insert(1, held: 1, dueAt: 9_000), StoreDirectory.insert(2, held: 2),
            StoreDirectory.insert(3, held: 1, dueAt: 5_000), StoreDirectory.insert(4))
        let store = try directory.open()
        let queue = QueueName(thread: "mail", priority: .normal)
        let delayed = try store.delayed(queue, after: .first, limit: 9, byteCount: 1 << 20)
        #expect(delayed.jobs.map(\.id.number) == [3, 1])
        #expect(delayed.isEnd)
        #expect(try store.buffered(queue).count == 1)
        #expect(try store.waiting() == [4])
        #expect(try store.queues() == [queue])
    }

    @Test func `a file that was brought up to date has the tables and indexes of a new one`()
        throws
    {
        let old = try StoreDirectory()
        old.makeOldestVersion()
        _ = try old.open()
        let new = try StoreDirectory()
        _ = try new.open()
        let tables = try new.tables()
        #expect(tables.count > 15)
        #expect(try old.tables() == tables)
    }

    @Test(arguments: [8, 10, 11, 12] as [Int64])
    func `a file of a version that was never released says so, and stays as it is`(
        version: Int64
    ) throws {
        let directory = try StoreDirectory()
        let creation = Schema.oldest.creation
        _ = directory.fault(schema: Schema(creation: creation, version: version, steps: []))
        let bytes = try File.read(directory.database, atMost: 1 << 20)
        let fault = try #require(directory.fault())
        #expect(fault.kind == .older)
        #expect(fault.description.contains("(schema \(version), this one knows 9, 13)"))
        #expect(try File.read(directory.database, atMost: 1 << 20) == bytes)
    }

    @Test func `a step that fails leaves the old version as it was`() throws {
        let directory = try StoreDirectory()
        try directory.open().accept(all: [.sample(1)])
        let broken = Schema.current.followed(
            by: ["UPDATE jobs SET priority = 0", "CREATE TABLE jobs (a INTEGER)"])
        #expect(directory.fault(schema: broken)?.kind == .failed)
        #expect(try directory.open().waiting() == [1])
    }

    @Test func `damage is found and named`() throws {
        let directory = try StoreDirectory()
        try directory.open().accept(all: (1...200).map { .sample($0) })
        var bytes = try File.read(directory.database, atMost: 1 << 20)
        // The first page stays, so that it is recognised as ours; the rest is noise.
        for index in 4_096..<bytes.count { bytes[index] = 0xA5 }
        try File.write(bytes, to: directory.database)
        let fault = try #require(directory.fault())
        #expect(fault.kind == .corrupt)
        #expect(fault.description.contains("it is damaged"))
        #expect(fault.description.contains("sqlite3 FILE .recover"))
    }

    @Test func `what another one has open is not opened twice`() throws {
        let directory = try StoreDirectory()
        let first = try directory.open()
        #expect(directory.fault()?.kind == .inUse)
        try first.accept(all: [.sample(1)])
        #expect(try first.waiting() == [1])
    }

    @Test(arguments: ["/proc/jobs.sqlite", "/nowhere/at/all/jobs.sqlite", "/tmp"])
    func `a place where no file can be made is named`(path: String) {
        do throws(StoreFault) {
            _ = try SQLiteStore(path: path)
            Issue.record("\(path) was opened")
        } catch {
            #expect(error.kind == .notWritable)
            #expect(error.description.hasPrefix(path))
            #expect(error.description.contains("must be writable"))
        }
    }

    @Test func `a full one refuses, keeps what it has, and goes on when there is room`() throws {
        let directory = try StoreDirectory()
        let store = try SQLiteStore(path: directory.database, byteCountMax: 200_000)
        let large = [UInt8](repeating: 1, count: 50_000)
        var accepted: [UInt64] = []
        var fault: StoreFault?
        for number in 1...10 as ClosedRange<UInt64> where fault == nil {
            do throws(StoreFault) {
                try store.accept(all: [.sample(number, payload: large)])
                accepted.append(number)
            } catch {
                fault = error
            }
        }
        #expect(fault?.kind == .full)
        #expect(fault?.description.contains("there is no room") == true)
        #expect(try store.waiting() == accepted)
        try store.end(1, .done([]), at: 5)
        try store.accept(all: [.sample(20, payload: large)])
        #expect(try store.waiting() == accepted.dropFirst() + [20])
    }

    @Test func `one that is moved or removed while it is open is written no more`() throws {
        let directory = try StoreDirectory()
        let store = try directory.open()
        let write = { (number: UInt64, now: Int64) -> StoreFault? in
            do throws(StoreFault) {
                try store.transaction(at: now) { () throws(StoreFault) in
                    try store.accept(.sample(number))
                }
                return nil
            } catch {
                return error
            }
        }
        #expect(write(1, 1_000) == nil)
        try File.rename(directory.database, to: directory.file("elsewhere"))
        let fault = try #require(write(2, 2_000))
        #expect(fault.kind == .moved)
        #expect(fault.description.contains("\(directory.database): it was moved or removed"))
        try File.rename(directory.file("elsewhere"), to: directory.database)
        #expect(write(3, 2_001) == nil)
        try File.remove(directory.database)
        store.doubtPresence()
        #expect(write(4, 2_002)?.kind == .moved)
        // Its log alone is not taken for a new store.
        #expect(directory.fault()?.kind == .incomplete)
        try File.remove(directory.database + "-wal")
        // Another file in its place is refused as well.
        let other = try directory.open()
        #expect(write(5, 2_003)?.kind == .moved)
        #expect(try other.waiting() == [])
        #expect(try store.waiting() == [1, 3])
    }

    @Test func `one whose log is moved while it is open is written no more until that is back`()
        throws
    {
        let directory = try StoreDirectory()
        let log = directory.database + "-wal"
        do {
            let store = try directory.open()
            try store.accept(all: [.sample(1)])
            try File.rename(log, to: directory.file("elsewhere"))
            store.doubtPresence()
            let fault = #expect(throws: StoreFault.self) {
                try store.accept(all: [.sample(2)])
            }
            #expect(fault?.kind == .moved)
            #expect(fault?.description.contains("\(log): it was moved or removed") == true)
            try File.rename(directory.file("elsewhere"), to: log)
            try store.accept(all: [.sample(3)])
            // Earlier jobs are not lost with it when the store is closed.
            try File.remove(log)
        }
        #expect(try directory.open().waiting() == [1, 3])
    }
}
