// A server that stores jobs, in a directory on a disk. It can be killed, and started again on its
// files.

internal import CMeasure
internal import Foundation
internal import Kernel

/// A server and its directory; releasing it kills the server and removes the directory.
final class StoringServer {
    let store: Store
    let address: SocketAddress
    private let directory: String
    private let socket: String
    private var child: ChildProcess?

    private static let patienceNanoseconds: Int64 = 120_000_000_000
    private static let pauseNanoseconds: Int64 = 100_000

    /// Starts a server in a fresh directory and waits until it answers.
    init(
        _ store: Store, _ purpose: Store.Purpose = .durable, traceFile: String? = nil
    ) throws {
        self.store = store
        directory = try StoreDirectory.create()
        socket = "\(directory)/\(store.socketName)"
        address = .unix(try UnixAddress(socket))
        try store.prepare(directory)
        _ = try start(purpose, traceFile: traceFile)
    }

    deinit {
        if child != nil { try? kill() }
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Starts it on the files in its directory.
    ///
    /// - Returns: nanoseconds until its first answer.
    func start(_ purpose: Store.Purpose = .durable, traceFile: String? = nil) throws -> Int64 {
        var command = try store.command(directory, socket, purpose)
        if let traceFile { command = try Executable.traced(command, to: traceFile) }
        // The socket of an earlier server would be asked.
        try? File.remove(socket)
        let begin = nanoseconds()
        var child = try ChildProcess.spawn(command)
        Interrupts.note(child.processID)
        while true {
            do {
                _ = try StoreLoad(self, clientCount: 1, outstanding: 1)
                self.child = consume child
                return nanoseconds() - begin
            } catch {
                let tooLong = nanoseconds() - begin > Self.patienceNanoseconds
                guard !child.hasEnded, !tooLong else {
                    let words = Self.lastWords(&child)
                    throw WorkbenchError("\(store.contender) does not serve: \(error) \(words)")
                }
            }
            measure_sleep(Self.pauseNanoseconds)
        }
    }

    /// Ends it as a service manager does, and waits for that.
    ///
    /// - Returns: nanoseconds from SIGTERM to its end.
    @discardableResult
    func stop() throws -> Int64 {
        let begin = nanoseconds()
        try child?.signalGroup(.terminate)
        try waitForEnd()
        return nanoseconds() - begin
    }

    /// Kills it and all its processes, and waits until they are gone.
    func kill() throws {
        let processes = processes
        try child?.signalGroup(.kill)
        // PostgreSQL's are in groups of their own.
        for process in processes.dropFirst() { try? Signal.kill.send(toProcess: process) }
        try waitForEnd()
        let deadline = nanoseconds() + Self.patienceNanoseconds
        while processes.contains(where: isAlive), nanoseconds() < deadline {
            measure_sleep(Self.pauseNanoseconds)
        }
    }

    private func waitForEnd() throws {
        guard let group = child?.processID else { return }
        let deadline = nanoseconds() + Self.patienceNanoseconds
        while child?.reap() == nil {
            guard nanoseconds() < deadline else {
                throw WorkbenchError("\(store.contender) does not end")
            }
            measure_sleep(Self.pauseNanoseconds)
        }
        Interrupts.forget(group)
        child = nil
    }

    // MARK: - Its resources

    /// Its processes; the first is the one that was started.
    private var processes: [Int] {
        guard let first = child?.processID else { return [] }
        var all = [first]
        for name in (try? Directory.names(in: "/proc")) ?? [] {
            guard let process = Int(name) else { continue }
            let state = state(process)
            if state.count > 1, state[1] == "\(first)" { all.append(process) }
        }
        return all
    }

    /// Whether a process runs; a zombie does not.
    private func isAlive(_ process: Int) -> Bool {
        guard let letter = state(process).first else { return false }
        return letter != "Z" && letter != "X"
    }

    /// The state of a process, its parent, and more; empty if there is none.
    ///
    /// - Source: proc(5), `/proc/pid/stat`: they follow the name in brackets.
    private func state(_ process: Int) -> [Substring] {
        let text = text("/proc/\(process)/stat")
        return text.split(separator: ")").last?.split(separator: " ") ?? []
    }

    /// Its resident memory in bytes; nil if it is more than one process, which share some of it.
    var residentBytes: Int? {
        guard processes.count == 1, let process = child?.processID else { return nil }
        for line in text("/proc/\(process)/status").split(separator: "\n")
        where line.hasPrefix("VmRSS:") {
            return line.split(separator: " ").dropFirst().first.flatMap { Int($0) }
                .map { $0 * 1_024 }
        }
        return nil
    }

    /// The time that its processes were on a cpu.
    var cpuNanoseconds: Int {
        processes.reduce(0) { $0 + TaskCounts.sum(process: "\($1)").cpuNanoseconds }
    }

    /// The bytes that it has given the kernel to write; nil if it is more than one process.
    ///
    /// - Source: proc(5), `/proc/pid/io`; sends to sockets do not count there.
    var writtenBytes: Int? {
        guard processes.count == 1, let process = child?.processID else { return nil }
        for line in text("/proc/\(process)/io").split(separator: "\n")
        where line.hasPrefix("wchar:") {
            return line.split(separator: " ").last.flatMap { Int($0) }
        }
        return nil
    }

    /// The sizes of all files in its directory together.
    var fileBytes: Int {
        let files = FileManager.default.enumerator(atPath: directory)
        var sum = 0
        while files?.nextObject() != nil {
            let isFile = files?.fileAttributes?[.type] as? FileAttributeType == .typeRegular
            if isFile, let size = files?.fileAttributes?[.size] as? NSNumber {
                sum += size.intValue
            }
        }
        return sum
    }

    private func text(_ path: String) -> String {
        guard let bytes = try? File.read(path, atMost: 1 << 16) else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func lastWords(_ child: inout ChildProcess) -> String {
        _ = try? child.signalGroup(.kill)
        guard let errors = child.takeErrors(),
            let bytes = try? errors.readEverything("its errors", atMost: 1 << 16)
        else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }
}

enum StoreDirectory {
    /// Makes a directory that every user may enter, and that is on a disk.
    static func create() throws -> String {
        // Not /tmp, which may be in memory.
        let parent = Program.inheritedEnvironment()["TMPDIR"] ?? "/var/tmp"
        guard unsafe measure_is_in_memory(parent) == 0 else {
            throw WorkbenchError(
                "\(parent) is in memory, where a sync is nothing: set TMPDIR to one on a disk")
        }
        let directory = try Directory.createTemporary(prefix: "\(parent)/workbench-")
        Interrupts.note(directory: directory)
        try File.setMode(0o711, of: directory)
        return directory
    }
}
