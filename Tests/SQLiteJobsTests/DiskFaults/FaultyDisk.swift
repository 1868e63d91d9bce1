// A disk on which calls fail when a test says so, and which records the writes (Tests/CFaults).

import CFaults
import Jobs
import SQLiteJobs
import Kernel
import Support

/// The files of one directory, seen from below SQLite.
final class FaultyDisk {
    /// The calls that can fail.
    enum Call: Int32, CaseIterable {
        case write = 1
        case truncate = 2
        case sync = 4
        case open = 8
        case delete = 16
        case read = 32
    }

    /// The ways in which they fail.
    enum Kind: Int32, CaseIterable {
        case error = 1
        case full = 2
        case shortError = 3
        case shortFull = 4
    }

    /// A recorded change of a file.
    struct Event {
        let call: Call
        /// 0 the database, 1 its log, 2 its journal.
        let file: Int
        let hasFailed: Bool
        let offset: Int
        /// The bytes that were written.
        let bytes: [UInt8]
        /// The size of a truncation.
        let size: Int
    }

    let directory: StoreDirectory
    private let number: Int32

    init() throws {
        guard faults_install() == 0 else { throw TooMany() }
        directory = try StoreDirectory(in: StoreDirectory.memory)
        number = unsafe faults_watch(directory.path)
        if number < 0 { throw TooMany() }
    }

    deinit { faults_forget(number) }

    struct TooMany: Error {}

    /// Fails calls from the one with this number on, counted from now; `count` 0 for all that come.
    func fail(_ calls: [Call], from number: Int, count: Int, _ kind: Kind) {
        let mask = calls.reduce(0 as UInt32) { $0 | UInt32($1.rawValue) }
        faults_arm(self.number, mask, Int32(number), Int32(count), kind.rawValue)
    }

    /// Fails no call from now on.
    func heal() { faults_arm(number, 0, 0, 0, 0) }

    /// The number of calls that have failed since the last `fail`.
    var failureCount: Int { Int(faults_given(number)) }

    func record() { faults_record(number) }
    var eventCount: Int { Int(faults_event_count(number)) }

    func events() -> [Event] {
        (0..<eventCount).compactMap { index in
            let event = faults_event_at(number, Int32(index))
            guard let call = Call(rawValue: event.call) else { return nil }
            var bytes = [UInt8](repeating: 0, count: call == .write ? Int(event.size) : 0)
            if !bytes.isEmpty {
                unsafe bytes.withUnsafeMutableBufferPointer { room in
                    unsafe faults_event_bytes(number, Int32(index), room.baseAddress)
                }
            }
            return Event(
                call: call, file: Int(event.file), hasFailed: event.has_failed != 0,
                offset: Int(event.offset), bytes: bytes, size: Int(event.size))
        }
    }
}

extension FaultyDisk.Event: CustomStringConvertible {
    var description: String {
        "\(call) \(["database", "log", "journal"][file]) \(offset)+\(bytes.count)"
            + (hasFailed ? " failed" : "")
    }
}

extension StoreDirectory {
    /// A directory in memory, if the system has one.
    static let memory: String =
        ((try? File.kind(of: "/dev/shm")) ?? nil) == nil ? "/tmp" : "/dev/shm"
}
