// Needs of every black-box test: files in a directory of its own, and facts about processes that
// are not ours. It knows nothing of the daemon.

import Glibc
import Kernel
import Support

/// A directory for a test's files.
typealias Scratch = TestDirectory

extension Scratch {
    func write(_ text: String, to name: String) throws {
        try File.write(Array(text.utf8), to: file(name))
    }

    /// The text of a file; empty when it is not there.
    func read(_ name: String) -> String {
        let bytes = (try? File.read(file(name), atMost: 64 << 20)) ?? []
        return String(decoding: bytes, as: UTF8.self)
    }

    func has(_ name: String) -> Bool { (try? File.kind(of: file(name))) != nil }

    /// The number that a program has written to a file, once it has.
    func processID(in name: String) throws -> Int {
        var found: Int?
        try eventually("a process id in \(name)") {
            // The line feed says that the number is complete.
            let text = read(name)
            if text.hasSuffix("\n") { found = Int(text.dropLast()) }
            return found != nil
        }
        guard let found else { throw Unexpected("no process id in \(name)") }
        return found
    }
}

/// Polls a condition until it holds.
///
/// For a state that nothing announces, such as another process's. Tests that can wait for a reply
/// do that instead.
func eventually(_ what: String, _ isSo: () throws -> Bool) throws {
    let deadline = SystemClock().now().advanced(by: .milliseconds(patienceMilliseconds))
    while true {
        if try isSo() { return }
        guard SystemClock().now() < deadline else { throw Unexpected("never came about: \(what)") }
        _ = poll(nil, 0, 3)
    }
}

/// Whether a process runs; one that has ended and waits to be collected does not.
func isRunning(_ processID: Int) -> Bool {
    guard let bytes = try? File.read("/proc/\(processID)/stat", atMost: 4_096) else { return false }
    // The state follows the program's name, which is in parentheses and may contain anything.
    let text = String(decoding: bytes, as: UTF8.self)
    guard let name = text.lastIndex(of: ")") else { return false }
    return !["Z", "X"].contains(text[name...].dropFirst(2).first.map(String.init) ?? "X")
}

/// The processes that a process has started and that still run.
func children(of processID: Int) throws -> [Int] {
    try Directory.names(in: "/proc").compactMap { Int($0) }.filter { other in
        // A process that has ended meanwhile has no file any more.
        let bytes = (try? File.read("/proc/\(other)/stat", atMost: 4_096)) ?? []
        let text = String(decoding: bytes, as: UTF8.self)
        guard let name = text.lastIndex(of: ")") else { return false }
        let fields = text[name...].split(separator: " ")
        return fields.count > 2 && Int(fields[2]) == processID && isRunning(other)
    }
}

/// The time that all threads of a process have spent computing.
///
/// The time tells what something costs a process, however long the machine keeps that process
/// waiting.
func processorTime(of processID: Int) throws -> Duration {
    let bytes = try File.read("/proc/\(processID)/stat", atMost: 4_096)
    let text = String(decoding: bytes, as: UTF8.self)
    // Fields 14 and 15; the third one follows the program's name.
    let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
    guard fields.count > 13, let user = Int64(fields[12]), let system = Int64(fields[13]) else {
        throw Unexpected("stat: \(text)")
    }
    return .seconds(user + system) / sysconf(CInt(_SC_CLK_TCK))
}

/// The memory that a process occupies, in bytes.
func residentBytes(of processID: Int) throws -> Int {
    let bytes = try File.read("/proc/\(processID)/statm", atMost: 4_096)
    let fields = String(decoding: bytes, as: UTF8.self).split(separator: " ")
    guard fields.count > 1, let pages = Int(fields[1]) else { throw Unexpected("statm: \(fields)") }
    return pages * sysconf(CInt(_SC_PAGESIZE))
}
