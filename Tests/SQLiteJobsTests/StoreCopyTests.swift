// Proves that a copy of a store made during transactions is the store as it was at the last part,
// and that its faults cost the store nothing.

import Jobs
import SQLiteJobs
import Kernel
import Support
import Testing

@Suite struct `A copy of a store` {
    private let script = StoreScript(seed: 11, steps: 120)

    /// Takes the first steps of the script, so that there is something to copy.
    private func storeWithSteps(
        _ count: Int, in directory: StoreDirectory
    ) throws -> (store: SQLiteStore, model: StoreModel) {
        let store = try directory.openForScript()
        var model = StoreModel()
        for step in script.steps[..<count] {
            try store.take(step)
            model.apply(step)
        }
        return (store, model)
    }

    private func contents(of path: String) throws -> Contents {
        try Contents(
            of: SQLiteStore(
                path: path, limits: StoreScript.limits,
                logPageCountMax: StoreScript.logPageCountMax))
    }

    @Test(arguments: [1, 3, 1_000])
    func `has what transactions have changed before its last part, and all else`(
        pageCount: Int
    ) throws {
        let (directory, other) = (try StoreDirectory(), try StoreDirectory())
        var (store, model) = try storeWithSteps(60, in: directory)
        let copy = try store.beginCopy(to: other.database, mark: 7)
        #expect(copy.byteCount > 100_000)
        var partCount = 1
        var rest = script.steps[60..<100]
        while try !copy.next(pageCount: pageCount) {
            partCount += 1
            guard let step = rest.popFirst() else { continue }
            try store.take(step)
            model.apply(step)
        }
        #expect(pageCount == 1_000 ? partCount == 1 : partCount > 20)
        for step in script.steps[100...] { try? store.take(step) }
        let differences = try contents(of: other.database).differences(from: model.contents)
        #expect(differences == [])
        // It is one file; SQLite has closed it.
        #expect(try Directory.names(in: other.path) == ["jobs.sqlite"])
    }

    @Test func `that is given up costs the store nothing`() throws {
        let (directory, other) = (try StoreDirectory(), try StoreDirectory())
        var (store, model) = try storeWithSteps(60, in: directory)
        let copy = try store.beginCopy(to: other.database, mark: 7)
        #expect(try !copy.next(pageCount: 5))
        copy.close()
        copy.close()
        for step in script.steps[60...] {
            try store.take(step)
            model.apply(step)
        }
        var found = try Contents(of: store)
        found.nextNumber = model.contents.nextNumber
        #expect(found == model.contents)
    }

    @Test(.timeLimit(.minutes(30)), arguments: [FaultyDisk.Kind.error, .full])
    func `on a disk that fails is told, and costs the store nothing`(
        kind: FaultyDisk.Kind
    ) throws {
        var (number, caseCount, isReached) = (1, 0, true)
        while isReached {
            let (directory, disk) = (
                try StoreDirectory(in: StoreDirectory.memory), try FaultyDisk()
            )
            var (store, model) = try storeWithSteps(40, in: directory)
            disk.fail(FaultyDisk.Call.allCases, from: number, count: 0, kind)
            var fault: StoreFault?
            do throws(StoreFault) {
                let copy = try store.beginCopy(to: disk.directory.database, mark: 7)
                defer { copy.close() }
                for step in script.steps[40..<60] {
                    _ = try copy.next(pageCount: 1)
                    // It also changes pages that have been copied, which the disk refuses.
                    try store.take(step)
                    model.apply(step)
                }
                while try !copy.next(pageCount: 10) {}
            } catch {
                fault = error
            }
            isReached = disk.failureCount > 0
            #expect((fault != nil) == isReached, "call \(number)")
            if let fault {
                #expect(fault.description.hasPrefix(disk.directory.database), "call \(number)")
            }
            disk.heal()
            var found = try Contents(of: store)
            found.nextNumber = model.contents.nextNumber
            #expect(found.live == model.contents.live, "call \(number)")
            number += takingEach(13)
            caseCount += 1
        }
        #expect(number > 20)
        tellFaultCases(caseCount, "a copy on a disk that fails, \(kind)")
    }

    @Test func `begins anew when a transaction fails, and not for ever`() throws {
        let (disk, other) = (try FaultyDisk(), try StoreDirectory(in: StoreDirectory.memory))
        var (store, model) = try storeWithSteps(60, in: disk.directory)
        var copy = try store.beginCopy(to: other.database, mark: 7)
        #expect(try !copy.next(pageCount: 5))
        failOnce(store, disk)
        while try !copy.next(pageCount: 5) {}
        #expect(try contents(of: other.database).differences(from: model.contents) == [])
        try File.remove(other.database)
        copy = try store.beginCopy(to: other.database, mark: 7)
        let fault = #expect(throws: StoreFault.self) {
            for _ in 0..<100 {
                _ = try copy.next(pageCount: 5)
                failOnce(store, disk)
            }
        }
        #expect(fault?.description.contains("transactions fail") == true)
        copy.close()
        try store.take(script.steps[60])
        model.apply(script.steps[60])
        #expect(try Contents(of: store).live == model.contents.live)
    }

    /// Makes a transaction fail that has changed something.
    private func failOnce(_ store: SQLiteStore, _ disk: FaultyDisk) {
        disk.fail([.write], from: 1, count: 0, .error)
        #expect(throws: StoreFault.self) {
            try store.take(StoreScript.Step(isSynced: true, operations: [.touch]))
        }
        disk.heal()
    }
}
