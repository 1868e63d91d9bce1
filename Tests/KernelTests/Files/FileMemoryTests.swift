// A file as memory, seen through the file.

import Kernel
import Support
import Testing

@Suite(.timeLimit(.minutes(20)))
struct FileMemoryTests {
    @Test func `what is stored is in the file at once, and the rest is zero`() throws {
        let directory = try TestDirectory()
        let path = directory.file("memory")
        try File.write([UInt8](repeating: 0xff, count: 100), to: path)
        let memory = try FileMemory(zeros: 24, to: path, mode: File.ownerOnly)
        let (several, one, none): ([UInt64], [UInt64], [UInt64]) = ([1, 2, .max], [9], [])
        memory.store(several.span, at: 16)
        memory.store(one.span, at: 23)
        memory.store(none.span, at: 24)
        var words: [UInt64] = []
        try File.readWords(of: path, inParts: 8) { part in
            for place in part.indices { words.append(part[place]) }
        }
        let zeros = [UInt64](repeating: 0, count: 16)
        #expect(words == zeros + [1, 2, .max, 0, 0, 0, 0, 9])
        #expect(try File.read(path, atMost: 1_000).count == 24 * 8)
    }

    @Test func `where there is no room, none is promised`() throws {
        #expect(throws: SystemError.self) {
            _ = try FileMemory(zeros: 16, to: "/dev/full", mode: File.ownerOnly)
        }
        let directory = try TestDirectory()
        #expect(throws: SystemError.self) {
            _ = try FileMemory(zeros: 16, to: directory.file("none/memory"), mode: 0o600)
        }
    }
}
