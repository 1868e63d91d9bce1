// Proves a file mapped as memory, seen through the file.

import Glibc
import Kernel
import Support
import Testing

@Suite(.timeLimit(.minutes(2)))
struct FileMemoryTests {
    @Test func `what is stored is in the file at once, and the rest is zero`() throws {
        let directory = try TestDirectory()
        let path = directory.file("memory")
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

    @Test func `what is there stays, and where a link leads no file is made`() throws {
        let directory = try TestDirectory()
        let path = directory.file("memory")
        try File.write([1, 2, 3], to: path)
        #expect(throws: SystemError.self) {
            _ = try FileMemory(zeros: 24, to: path, mode: File.ownerOnly)
        }
        #expect(try File.read(path, atMost: 100) == [1, 2, 3])
        try #require(unsafe symlink(directory.file("none"), directory.file("link")) == 0)
        #expect(throws: SystemError.self) {
            _ = try FileMemory(zeros: 24, to: directory.file("link"), mode: File.ownerOnly)
        }
        #expect(throws: SystemError.self) {
            try File.readWords(of: directory.file("link"), inParts: 8) { _ in }
        }
        #expect(try Directory.names(in: directory.path).sorted() == ["link", "memory"])
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

    @Test func `a page that is lost ends nothing, and the others stay`() throws {
        let directory = try TestDirectory()
        let path = directory.file("memory")
        let pageWordCount = 65_536 / 8
        let memory = try FileMemory(zeros: 3 * pageWordCount, to: path, mode: File.ownerOnly)
        // The file loses its last pages, as on a failing file system.
        try #require(unsafe truncate(path, off_t(pageWordCount * 8)) == 0)
        let words: [UInt64] = [1, 2, 3]
        for start in [pageWordCount - 1, 2 * pageWordCount, 2 * pageWordCount + 8, 0] {
            memory.store(words.span, at: start)
        }
        var first: [UInt64] = []
        try File.readWords(of: path, inParts: pageWordCount) { part in
            first += [part[0], part[1], part[2], part[pageWordCount - 1]]
        }
        #expect(first == [1, 2, 3, 1])
    }

    @Test func `a fault of somebody else ends the process as ever`() async {
        await #expect(processExitsWith: .signal(SIGBUS)) {
            let memory = try FileMemory(
                zeros: 8, to: "/dev/shm/workerd-memory-\(getpid())", mode: File.ownerOnly)
            try File.remove("/dev/shm/workerd-memory-\(getpid())")
            memory.store([1, 2].span, at: 0)
            raise(SIGBUS)
        }
    }
}
