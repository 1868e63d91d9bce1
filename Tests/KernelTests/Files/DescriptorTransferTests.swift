// Proves transfers through real pipes, at the edges: empty, full, closed.

import Glibc
import Kernel
import Support
import Testing

@Suite(.timeLimit(.minutes(2)))
struct DescriptorTransferTests {
    @Test func `an empty pipe would block and says so without an error`() throws {
        let pipe = try Pipe()
        var bytes: [UInt8] = [7]
        let result = try pipe.readEnd.read(appendingTo: &bytes, atMost: 10)
        #expect(result == .wouldBlock)
        #expect(bytes == [7])
    }

    @Test func `what was written is read, then the end is seen`() throws {
        let pipe = try Pipe()
        let written = try pipe.writeEnd.write(contentsOf: [1, 2, 3])
        #expect(written == .wrote(3))
        let readEnd = pipe.keepReadEnd()
        var bytes: [UInt8] = []
        let first = try readEnd.read(appendingTo: &bytes, atMost: 10)
        let second = try readEnd.read(appendingTo: &bytes, atMost: 10)
        #expect(first == .bytes(3))
        #expect(second == .end)
        #expect(bytes == [1, 2, 3])
    }

    @Test func `a read appends, and takes no more than it was allowed`() throws {
        let pipe = try Pipe()
        _ = try pipe.writeEnd.write(contentsOf: [1, 2, 3, 4, 5])
        var bytes: [UInt8] = [9]
        // Spare capacity of the array does not raise the limit.
        bytes.reserveCapacity(1000)
        let result = try pipe.readEnd.read(appendingTo: &bytes, atMost: 2)
        #expect(result == .bytes(2))
        #expect(bytes == [9, 1, 2])
    }

    @Test func `a write starts at the offset or at the beginning of the slice`() throws {
        let pipe = try Pipe()
        let bytes: [UInt8] = [0, 1, 2, 3, 4]
        let first = try pipe.writeEnd.write(contentsOf: bytes, from: 3)
        let second = try pipe.writeEnd.write(contentsOf: bytes[1..<3])
        let third = try pipe.writeEnd.write(contentsOf: bytes, from: 5)
        #expect(first == .wrote(2))
        #expect(second == .wrote(2))
        #expect(third == .wrote(0))
        var read: [UInt8] = []
        _ = try pipe.readEnd.read(appendingTo: &read, atMost: 100)
        #expect(read == [3, 4, 1, 2])
    }

    @Test func `a full pipe takes a part, then would block`() throws {
        let pipe = try Pipe()
        let megabyte = [UInt8](repeating: 1, count: 1 << 20)
        let first = try pipe.writeEnd.write(contentsOf: megabyte)
        guard case .wrote(let count) = first else {
            Issue.record("the first write takes something, but: \(first)")
            return
        }
        #expect(count > 0 && count < megabyte.count)
        let second = try pipe.writeEnd.write(contentsOf: megabyte)
        #expect(second == .wouldBlock)
    }

    @Test func `a full socket takes a part of the chunks, then would block`() throws {
        let pair = try SocketPair()
        let megabyte = [UInt8](repeating: 1, count: 1 << 20)
        let first = try pair.first.sendVector([megabyte, megabyte])
        guard case .wrote(let count) = first else {
            Issue.record("the first write takes something, but: \(first)")
            return
        }
        #expect(count > 0 && count < 2 * megabyte.count)
        while case .wrote = try pair.first.sendVector([megabyte]) {}
        let last = try pair.first.sendVector([[1], [2]])
        #expect(last == .wouldBlock)
    }

    @Test func `chunks go out in order from the offset in the first`() throws {
        let pair = try SocketPair()
        let result = try pair.first.sendVector([[0, 1, 2], [], [3], [4, 5]], from: 1)
        #expect(result == .wrote(5))
        var bytes: [UInt8] = []
        _ = try pair.second.read(appendingTo: &bytes, atMost: 100)
        #expect(bytes == [1, 2, 3, 4, 5])
    }

    @Test(arguments: [1, 63, 64, 65, 200])
    func `one call takes at most 64 chunks`(count: Int) throws {
        let pair = try SocketPair()
        let chunks = (0..<count).map { [UInt8($0), 255] }
        let result = try pair.first.sendVector(chunks[...])
        let taken = min(count, Descriptor.vectorChunkCountMax)
        #expect(result == .wrote(2 * taken))
        var bytes: [UInt8] = []
        _ = try pair.second.read(appendingTo: &bytes, atMost: 1000)
        #expect(bytes == Array(chunks.prefix(taken).joined()))
    }

    @Test func `chunks of a slice, and none at all, are fine`() throws {
        let pair = try SocketPair()
        let chunks: [[UInt8]] = [[1], [2], [3], [4]]
        let some = try pair.first.sendVector(chunks[1..<3])
        let none = try pair.first.sendVector([])
        let empty = try pair.first.sendVector([[], []])
        #expect(some == .wrote(2))
        #expect(none == .wrote(0))
        #expect(empty == .wrote(0))
        var bytes: [UInt8] = []
        _ = try pair.second.read(appendingTo: &bytes, atMost: 100)
        #expect(bytes == [2, 3])
    }

    @Test func `a pipe without a reader throws EPIPE`() throws {
        // On this thread only: the signal that comes with the error stays pending, is taken, and
        // the mask is as before. Nothing here suspends, so the thread stays the same.
        Signal.block([.brokenPipe])
        defer { Signal.unblock([.brokenPipe]) }
        let signals = try SignalDescriptor([.brokenPipe])
        let writeEnd = try Pipe().keepWriteEnd()
        let single = errorNumber { () throws(SystemError) in
            _ = try writeEnd.write(contentsOf: [1])
        }
        #expect(single == EPIPE)
        let first = try signals.next()
        #expect(first?.signal == .brokenPipe)
    }

    @Test func `everything is written, however little the reader takes at a time`() throws {
        let directory = try TestDirectory()
        var child = try ChildProcess.spawn(
            ChildCommand(
                program: "/bin/sh", arguments: ["-c", "cat > \"$0\"", directory.file("copy")]))
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
        let input = try present(child.takeInput())
        try input.write(everything: bytes)
        input.close()
        try waitUntilReadable(child.endDescriptor)
        #expect(try File.read(directory.file("copy"), atMost: 1 << 20) == bytes)
    }

    @Test func `descriptors can be made to wait and not to wait`() throws {
        let pipe = try Pipe(nonBlocking: .writeEnd)
        #expect(fcntl(pipe.readEnd.number, F_GETFL) & O_NONBLOCK == 0)
        try pipe.readEnd.setNonBlocking(true)
        #expect(fcntl(pipe.readEnd.number, F_GETFL) & O_NONBLOCK != 0)
        try pipe.writeEnd.setNonBlocking(false)
        #expect(fcntl(pipe.writeEnd.number, F_GETFL) & O_NONBLOCK == 0)
        try pipe.readEnd.setNonBlocking(false)
        #expect(fcntl(pipe.readEnd.number, F_GETFL) & O_NONBLOCK == 0)
    }

    @Test func `pipes are close-on-exec and leave the standard streams' numbers alone`() throws {
        let pipe = try Pipe()
        let copy = try pipe.readEnd.duplicate()
        for number in [pipe.readEnd.number, pipe.writeEnd.number, copy.number] {
            #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0)
            #expect(number >= 3)
        }
    }
}
