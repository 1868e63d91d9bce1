// Cuts the power at any moment of a script: any part of the unsynced writes may have reached the
// disk. Acknowledged changes are there, in order, and no change is half there.
//
// A few thousand cases are sampled; FAULTS=1 in the environment takes all (Scripts/fault-test).

import Jobs
import SQLiteJobs
import Kernel
import Support
import Testing

@Suite struct PowerCutTests {
    /// A script's run as the disk saw it.
    struct Recording {
        /// The contents of the disk at its beginning.
        var files: [[UInt8]] = []
        var events: [FaultyDisk.Event] = []
        var moments: [Moment] = []
    }

    /// A transaction that returned, or may be there though it threw.
    struct Moment {
        /// The number of events before it.
        var eventCount: Int
        let contents: Contents
        /// Whether everything before it is on the disk as well.
        let isSynced: Bool
    }

    private func record(
        seed: UInt64, steps: Int, failing number: Int? = nil
    ) throws -> Recording {
        try record(StoreScript(seed: seed, steps: steps).steps, failing: number)
    }

    private func record(
        _ steps: [StoreScript.Step], failing number: Int? = nil
    ) throws -> Recording {
        let disk = try FaultyDisk()
        let store = try disk.directory.openForScript()
        var recording = Recording()
        for suffix in ["", "-wal"] {
            recording.files.append(
                try File.read(disk.directory.database + suffix, atMost: 64 << 20))
        }
        var model = StoreModel()
        recording.moments.append(
            Moment(eventCount: 0, contents: model.contents, isSynced: true))
        disk.record()
        if let number { disk.fail([.sync], from: number, count: 1, .error) }
        for step in steps {
            do throws(StoreFault) {
                try store.take(step)
                model.apply(step)
                recording.moments.append(
                    Moment(
                        eventCount: disk.eventCount, contents: model.contents,
                        isSynced: step.isSynced))
            } catch {
                recording.moments.append(
                    Moment(
                        eventCount: disk.eventCount, contents: model.applying(step).contents,
                        isSynced: false))
            }
        }
        return recording.inBlocks(of: disk.events())
    }

    /// The contents of the disk: events in their order, some left out, the last one cut at a byte.
    ///
    /// Behind that byte are the former bytes, or noise.
    private func files(
        _ recording: Recording, upTo count: Int, without left: Set<Int> = [],
        lastBytes: Int? = nil, noise: Bool = false
    ) -> [[UInt8]] {
        var files = recording.files
        for (index, event) in recording.events.prefix(count).enumerated()
        where event.file < files.count && !left.contains(index) {
            switch event.call {
            case .write:
                var bytes = event.bytes[...]
                if index == count - 1, let lastBytes {
                    let rest = bytes.indices.dropFirst(lastBytes)
                    let tail = noise ? rest.map { UInt8(truncatingIfNeeded: $0 &* 37) } : []
                    bytes = bytes.prefix(lastBytes) + tail
                }
                let end = event.offset + bytes.count
                let missing = end - files[event.file].count
                if missing > 0 { files[event.file] += [UInt8](repeating: 0, count: missing) }
                files[event.file].replaceSubrange(event.offset..<end, with: bytes)
            case .truncate:
                let size = files[event.file].count
                if size > event.size {
                    files[event.file].removeLast(size - event.size)
                } else {
                    files[event.file] += [UInt8](repeating: 0, count: event.size - size)
                }
            case .sync, .open, .delete, .read: break
            }
        }
        return files
    }

    /// The writes that may not have reached the disk by an event.
    ///
    /// A failed sync marks its writes as clean: later syncs do not write them either.
    private func unsynced(_ recording: Recording, upTo count: Int) -> [Int] {
        var pending: [Int: [Int]] = [:]
        var lost: [Int] = []
        for (index, event) in recording.events.prefix(count).enumerated() {
            switch event.call {
            case .write, .truncate: pending[event.file, default: []].append(index)
            case .sync:
                if event.hasFailed { lost += pending[event.file] ?? [] }
                pending[event.file] = nil
            case .open, .delete, .read: break
            }
        }
        return (lost + pending.values.flatMap { $0 }).sorted()
    }

    /// The cases so far: the same files within the same moments are no second case.
    private final class Looked {
        var cases: Set<Int> = []

        /// - Returns: whether the case is new.
        func note(_ files: [[UInt8]], _ allowed: ArraySlice<Moment>) -> Bool {
            var hasher = Hasher()
            for file in files {
                hasher.combine(file.count)
                unsafe file.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
            }
            for moment in allowed { hasher.combine(moment.contents) }
            return cases.insert(hasher.finalize()).inserted
        }
    }

    private let looked = Looked()

    /// Opens files and checks that they hold a state from the last synced one on.
    private func check(
        _ files: [[UInt8]], _ recording: Recording, at count: Int, _ what: String,
        mayBeRefused: Bool = false
    ) throws {
        let moments = recording.moments
        let first = moments.lastIndex { $0.isSynced && $0.eventCount <= count } ?? 0
        let last = moments.firstIndex { $0.eventCount > count } ?? moments.count - 1
        guard looked.note(files, moments[first...last]) else { return }
        let directory = try StoreDirectory(in: StoreDirectory.memory)
        for (bytes, suffix) in zip(files, ["", "-wal"]) {
            try File.write(bytes, to: directory.database + suffix)
        }
        do throws(StoreFault) {
            let found = try Contents(of: try directory.openForScript())
            let index = moments[first...last].firstIndex { $0.contents == found }
            guard index == nil else { return }
            let like = moments.indices.filter { moments[$0].contents == found }
            let latest = recording.events.prefix(count).suffix(12).map(\.description)
            Issue.record(
                """
                \(what): none of the states \(first) to \(last) but of \(like)
                \(found.differences(from: moments[first].contents)) after \(latest)
                """)
        } catch  where mayBeRefused && error.kind == .incomplete {
            let left = try ["", "-wal"].map { try File.read(directory.database + $0, atMost: .max) }
            #expect(left == files, "\(what): refused, and not left alone")
        } catch {
            Issue.record("\(what): \(error)")
        }
    }

    @Test(.timeLimit(.minutes(60)))
    func `every prefix of what was written holds what was acknowledged`() throws {
        let recording = try record(seed: 11, steps: 60)
        #expect(recording.events.count > 500)
        #expect(recording.events.contains { $0.call == .write && $0.file == 0 }, "the log is moved")
        for count in 0...recording.events.count where count % takingEach(9) == 0 {
            try check(files(recording, upTo: count), recording, at: count, "cut at \(count)")
        }
        tellFaultCases(looked.cases.count, "power cut after a write")
    }

    @Test(.timeLimit(.minutes(60)))
    func `a write that is torn, or ends in noise, is as none`() throws {
        let recording = try record(seed: 12, steps: 60)
        for (index, event) in recording.events.enumerated() where event.call == .write {
            var cuts = Array(Swift.stride(from: 512, to: event.bytes.count, by: 512))
            cuts += [1, 7, event.bytes.count / 2 + 1, event.bytes.count - 1]
            for (place, cut) in cuts.enumerated() where cut > 0 && cut < event.bytes.count {
                guard (index * 7 + place) % takingEach(61) == 0 else { continue }
                let noise = place % 2 == 1
                let torn = files(recording, upTo: index + 1, lastBytes: cut, noise: noise)
                // Noise in the first bytes may be another program's file, which stays as it is.
                let isHeader = noise && event.file == 0 && event.offset == 0 && cut < 100
                try check(
                    torn, recording, at: index, "write \(index) torn at byte \(cut)",
                    mayBeRefused: isHeader)
            }
        }
        tellFaultCases(looked.cases.count, "power cut within a write")
    }

    @Test(.timeLimit(.minutes(60)))
    func `any single write since the last sync may be missing, or all of a file`() throws {
        let recording = try record(seed: 13, steps: 60)
        var caseCount = 0
        for count in 1...recording.events.count {
            let pending = unsynced(recording, upTo: count)
            for (place, left) in pending.enumerated()
            where (count * 3 + place) % takingEach(53) == 0 {
                caseCount += 1
                try check(
                    files(recording, upTo: count, without: [left]), recording, at: count,
                    "cut at \(count) without write \(left)")
            }
            for file in 0...1 where count % takingEach(17) == 0 {
                let left = pending.filter { recording.events[$0].file == file }
                try check(
                    files(recording, upTo: count, without: Set(left)), recording, at: count,
                    "cut at \(count) without what file \(file) had unsynced")
            }
        }
        #expect(caseCount > 0)
        tellFaultCases(looked.cases.count, "power cut without some of the writes")
    }

    @Test(.timeLimit(.minutes(60)))
    func `what is acknowledged after a failed sync does not rely on what that lost`() throws {
        var number = 1
        var isReached = true
        while isReached {
            let recording = try record(seed: 14, steps: 40, failing: number)
            let failed = recording.events.firstIndex { $0.hasFailed }
            isReached = failed != nil
            for (index, moment) in recording.moments.enumerated()
            where moment.isSynced && moment.eventCount > failed ?? 0 {
                guard index % takingEach(3) == 0 else { continue }
                let left = unsynced(recording, upTo: moment.eventCount)
                try check(
                    files(recording, upTo: moment.eventCount, without: Set(left)), recording,
                    at: moment.eventCount, "sync \(number) failed, power cut at moment \(index)")
            }
            number += takingEach(4)
        }
        #expect(number > 20)
        tellFaultCases(looked.cases.count, "power cut after a failed sync")
    }

    @Test(.timeLimit(.minutes(60)))
    func `at no moment after a failed sync does a power cut damage the file`() throws {
        var number = 1
        var isReached = true
        while isReached {
            let recording = try record(seed: 15, steps: 40, failing: number)
            let failed = recording.events.firstIndex { $0.hasFailed }
            isReached = failed != nil
            // Within so many events the log is in order again.
            let first = failed ?? recording.events.count
            for count in first...min(first + 40, recording.events.count) {
                let left = unsynced(recording, upTo: count)
                try check(
                    files(recording, upTo: count, without: Set(left)), recording, at: count,
                    "sync \(number) failed, power cut at \(count)")
            }
            number += takingEach(8)
        }
        tellFaultCases(looked.cases.count, "power cut at any moment after a failed sync")
    }

    @Test func `a transaction that only touches takes what was before it to the disk`() throws {
        var steps = [StoreScript.Step(isSynced: false, operations: [.accept(.sample(1))])]
        for _ in 0..<3 { steps.append(StoreScript.Step(isSynced: true, operations: [.touch])) }
        let recording = try record(steps)
        for moment in recording.moments.dropFirst(2) {
            let left = unsynced(recording, upTo: moment.eventCount)
            try check(
                files(recording, upTo: moment.eventCount, without: Set(left)), recording,
                at: moment.eventCount, "power cut after a touch")
        }
    }
}

extension PowerCutTests.Recording {
    /// The same with each write split into its blocks: a disk takes them one by one, in any order.
    func inBlocks(of events: [FaultyDisk.Event]) -> Self {
        var recording = self
        /// The number of split events before each of the given ones.
        var counts = [0]
        for event in events {
            recording.events += event.blocks
            counts.append(recording.events.count)
        }
        for index in moments.indices {
            recording.moments[index].eventCount = counts[moments[index].eventCount]
        }
        return recording
    }
}

extension FaultyDisk.Event {
    private static let blockByteCount = 4_096

    /// A write as several, none of which has parts of two blocks; other events unchanged.
    fileprivate var blocks: [Self] {
        guard call == .write else { return [self] }
        var blocks: [Self] = []
        var start = 0
        while start < bytes.count {
            let place = offset + start
            let left = Self.blockByteCount - place % Self.blockByteCount
            let end = min(bytes.count, start + left)
            blocks.append(
                Self(
                    call: call, file: file, hasFailed: hasFailed, offset: place,
                    bytes: Array(bytes[start..<end]), size: end - start))
            start = end
        }
        return blocks
    }
}
