// Proves files in memory, as a child reads them.

import Glibc
import Kernel
import Support
import Testing

@Suite(.timeLimit(.minutes(2)))
struct FileInMemoryTests {
    @Test(arguments: [0, 1, 1 << 20])
    func `a child reads it from its beginning to its end`(byteCount: Int) throws {
        let file = try File.inMemory([UInt8](repeating: 0x61, count: byteCount), label: "test")
        var child = try ChildProcess.spawn(ChildCommand(program: "/bin/cat"), reading: file)
        let isWithoutEndOfOurs = child.takeInput() == nil
        #expect(isWithoutEndOfOurs)
        let output = try present(child.takeOutput())
        #expect(try readToEnd(output) == String(repeating: "a", count: byteCount))
        #expect(try ended(&child) == .exited(0))
    }

    @Test func `nobody changes it`() throws {
        let file = try File.inMemory([1, 2, 3], label: "test")
        let write = errorNumber { () throws(SystemError) in _ = try file.write(contentsOf: [4]) }
        #expect(write == EPERM)
        #expect(ftruncate(file.number, 1) == -1 && errno == EPERM)
        #expect(ftruncate(file.number, 9) == -1 && errno == EPERM)
        var bytes: [UInt8] = []
        let read = try file.read(appendingTo: &bytes, atMost: 9)
        #expect(read == .bytes(3) && bytes == [1, 2, 3])
    }
}
