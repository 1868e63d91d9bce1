// Fails each call to the disk in turn, in each way, while a script of transactions runs: changes of
// those that returned are there, changes of those that threw are not, and the store goes on when
// the disk does.
//
// A few cases each; FAULTS=1 in the environment takes every call number (Scripts/fault-test).

import Jobs
import SQLiteJobs
import Kernel
import Support
import Testing

@Suite struct DiskFaultTests {
    /// One run of the script with one fault.
    struct Case {
        var calls: [FaultyDisk.Call]
        var number: Int
        /// The number of failing calls; 0 for all up to the end of a few transactions.
        var count: Int
        var kind: FaultyDisk.Kind
    }

    private let script = StoreScript(seed: 4, steps: 40)

    /// Runs the script.
    ///
    /// - Returns: whether there was such a call.
    private func run(_ fault: Case) throws -> Bool {
        let disk = try FaultyDisk()
        var store: SQLiteStore? = try disk.directory.openForScript()
        var model = StoreModel()
        var throwCount = 0
        /// The refused steps since the last success: one of them may be whole at the log's end.
        var refused: [StoreScript.Step] = []
        disk.fail(fault.calls, from: fault.number, count: fault.count, fault.kind)
        for step in script.steps {
            do throws(StoreFault) {
                try store?.take(step)
                model.apply(step)
                refused = []
            } catch {
                throwCount += 1
                refused.append(step)
                #expect([.failed, .full, .notWritable].contains(error.kind), "\(fault): \(error)")
                #expect(error.description.hasPrefix(disk.directory.database))
                if fault.count == 0, throwCount < 3 { continue }
                disk.heal()
                try check(store, holds: model, fault, "after \(error)")
                try checkCopy(of: disk, holds: [model] + refused.map(model.applying), fault)
            }
        }
        let isReached = disk.failureCount > 0 || throwCount > 0
        disk.heal()
        try check(store, holds: model, fault, "at the end")
        // As a crash leaves it, then as its closing does.
        try checkCopy(of: disk, holds: [model] + refused.map(model.applying), fault)
        store = nil
        let reopened = try disk.directory.openForScript()
        #expect(try Contents(of: reopened) == model.contents, "\(fault), opened again")
        return isReached
    }

    private func check(
        _ store: SQLiteStore?, holds model: StoreModel, _ fault: Case, _ moment: String
    ) throws {
        let store = try #require(store)
        var found = try Contents(of: store)
        var expected = model.contents
        // The store finds the number when it is opened.
        found.nextNumber = 0
        expected.nextNumber = 0
        #expect(found == expected, "\(fault), \(moment)")
    }

    /// Opens a copy of the present files: a killed process leaves just these.
    private func checkCopy(of disk: FaultyDisk, holds models: [StoreModel], _ fault: Case) throws {
        let copy = try StoreDirectory(in: StoreDirectory.memory)
        for suffix in ["", "-wal", "-journal"] {
            guard try File.kind(of: disk.directory.database + suffix) != nil else { continue }
            let bytes = try File.read(disk.directory.database + suffix, atMost: 64 << 20)
            try File.write(bytes, to: copy.database + suffix)
        }
        let found = try Contents(of: try copy.openForScript())
        #expect(models.contains { $0.contents == found }, "\(fault), after a crash")
    }

    @Test(.timeLimit(.minutes(30)), arguments: FaultyDisk.Kind.allCases, [1, 0])
    func `a write that fails costs its own transaction only`(
        kind: FaultyDisk.Kind, count: Int
    ) throws {
        var number = 1
        var caseCount = 0
        while try run(Case(calls: [.write], number: number, count: count, kind: kind)) {
            number += takingEach(67)
            caseCount += 1
        }
        #expect(number > 150)
        tellFaultCases(caseCount, "a write that fails, \(kind), \(count)")
    }

    @Test(.timeLimit(.minutes(30)), arguments: [1, 2, 0])
    func `a sync that fails costs its own transaction only`(count: Int) throws {
        var number = 1
        var caseCount = 0
        while try run(Case(calls: [.sync], number: number, count: count, kind: .error)) {
            number += takingEach(7)
            caseCount += 1
        }
        #expect(number > 25)
        tellFaultCases(caseCount, "a sync that fails, \(count)")
    }

    @Test(.timeLimit(.minutes(30)), arguments: [1, 0])
    func `a read, a truncation or a deletion that fails costs no other transaction`(
        count: Int
    ) throws {
        var number = 1
        var caseCount = 0
        let calls: [FaultyDisk.Call] = [.read, .truncate, .delete, .open]
        while try run(Case(calls: calls, number: number, count: count, kind: .error)) {
            number += takingEach(11)
            caseCount += 1
        }
        #expect(number > 10)
        tellFaultCases(caseCount, "a read, truncation or deletion that fails, \(count)")
    }

    @Test(.timeLimit(.minutes(30)), arguments: [FaultyDisk.Kind.error, .shortFull])
    func `a fault while a store is opened is named and spoils nothing`(
        kind: FaultyDisk.Kind
    ) throws {
        let source = try FaultyDisk()
        let store = try source.directory.openForScript()
        var model = StoreModel()
        for step in script.steps {
            try store.take(step)
            model.apply(step)
        }
        var files: [String: [UInt8]] = [:]
        for suffix in ["", "-wal"] {
            files[suffix] = try File.read(source.directory.database + suffix, atMost: 64 << 20)
        }
        var number = 1
        var caseCount = 0
        var isReached = true
        while isReached {
            let disk = try FaultyDisk()
            for (suffix, bytes) in files {
                try File.write(bytes, to: disk.directory.database + suffix)
            }
            disk.fail(FaultyDisk.Call.allCases, from: number, count: 1, kind)
            do throws(StoreFault) {
                _ = try disk.directory.openForScript()
            } catch {
                #expect(error.description.hasPrefix(disk.directory.database), "call \(number)")
            }
            isReached = disk.failureCount > 0
            disk.heal()
            let found = try Contents(of: try disk.directory.openForScript())
            #expect(found == model.contents, "call \(number)")
            number += takingEach(3)
            caseCount += 1
        }
        #expect(number > 5)
        tellFaultCases(caseCount, "a fault while a store is opened, \(kind)")
    }
}
