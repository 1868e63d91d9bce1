// What every test here needs of the machine: a directory of its own, waiting with a bound, and the
// place of the package's programs. It knows nothing of the daemon.

import Glibc
import Kernel

/// What a test waited for did not happen, or something else did.
struct Unexpected: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A directory that only this test knows; removed with the files in it.
final class Scratch: Sendable {
    let path: String

    init() throws {
        path = try Directory.createTemporary(prefix: "/tmp/workerd-client-")
    }

    deinit {
        for name in (try? Directory.names(in: path)) ?? [] { try? File.remove(file(name)) }
        try? Directory.remove(path)
    }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    func write(_ bytes: [UInt8], to name: String) throws -> String {
        try File.write(bytes, to: file(name), mode: File.ownerOnly)
        return file(name)
    }
}

/// Waits until a descriptor is ready, far longer than anything here takes.
func waitUntilReady(_ number: CInt, for events: Int32 = POLLIN) throws {
    let patienceMilliseconds: CInt = 120_000
    var request = pollfd(fd: number, events: CShort(events), revents: 0)
    while true {
        let count = unsafe poll(&request, 1, patienceMilliseconds)
        if count < 0 && errno == EINTR { continue }
        guard count == 1 else { throw Unexpected("nothing happens on descriptor \(number)") }
        return
    }
}

/// A program of this package, beside the running test bundle.
func product(_ name: String) throws -> String {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = unsafe buffer.withUnsafeMutableBufferPointer { room -> Int in
        guard let base = room.baseAddress else { return -1 }
        return unsafe base.withMemoryRebound(to: CChar.self, capacity: room.count) {
            unsafe readlink("/proc/self/exe", $0, room.count)
        }
    }
    guard count > 0 else { throw Unexpected("no /proc/self/exe") }
    let path = String(decoding: buffer[..<count], as: UTF8.self)
    return path[..<(path.lastIndex(of: "/") ?? path.startIndex)] + "/" + name
}
