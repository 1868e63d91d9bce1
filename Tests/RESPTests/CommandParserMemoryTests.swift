// Proves which memory the server's parser holds, copies and gives back. Addresses and sizes instead
// of times, so that no result depends on the machine.

import RESP
import Support
import Testing

@Suite struct CommandParserMemoryTests {
    @Test func `a pipeline is parsed in one piece of memory`() throws {
        var chunk: [UInt8] = []
        for _ in 0..<100 {
            CommandWriter.write(["PERFORM", "images", "echo", "hello"], to: &chunk)
        }
        var parser = CommandParser()
        var addresses: Set<UInt> = []
        var count = 0
        for _ in 0..<50 {
            parser.withUninitializedTail(atLeast: 16_384) { tail in
                for byte in chunk { tail.append(byte) }
            }
            while let command = try parser.nextCommand() {
                addresses.insert(storageAddress(command) & ~0xFFFF)
                count += 1
            }
        }
        #expect(count == 5000)
        #expect(addresses.count <= 2, "one buffer of 16 KiB lies in two pages of 64 KiB at most")
        #expect(parser.memoryByteCount < 20_000)
    }

    @Test func `many parsers share one piece of memory`() throws {
        var spare: [UInt8] = []
        func read(
            _ text: String, into parser: inout CommandParser
        ) throws -> (text: String, address: UInt)? {
            parser.takeMemory(&spare)
            defer { parser.giveMemory(&spare) }
            parser.withUninitializedTail(atLeast: 16_384) { tail in
                for byte in text.utf8 { tail.append(byte) }
            }
            return try parser.nextCommand().map { ($0.text(at: 1), storageAddress($0)) }
        }
        // Only one that waits for the rest of a command keeps what it has read into.
        var waiting = CommandParser()
        #expect(try read("GET k", into: &waiting) == nil)
        #expect(waiting.memoryByteCount >= 16_384)
        #expect(spare.capacity == 0)
        var addresses: Set<UInt> = []
        for _ in 0..<100 {
            var parser = CommandParser()
            let command = try #require(try read("GET key\r\n", into: &parser))
            addresses.insert(command.address & ~0xFFFF)
            #expect(parser.memoryByteCount < 1024)
        }
        #expect(addresses.count <= 2, "one piece of 16 KiB lies in two pages of 64 KiB at most")
        #expect(try read("ey\r\n", into: &waiting)?.text == "key")
        #expect(waiting.memoryByteCount < 1024)
    }

    @Test func `room for an announced argument is taken once`() throws {
        let size = 1 << 20
        var parser = CommandParser()
        parser.append("*2\r\n$4\r\nECHO\r\n$\(size)\r\n".utf8)
        #expect(try parser.nextCommand() == nil)
        #expect(parser.memoryByteCount < 1024, "nothing is taken before bytes come")
        var sizes: Set<Int> = []
        let piece = Array(repeating: UInt8(ascii: "x"), count: 1000)
        var sent = 0
        while sent < size {
            let part = piece.prefix(size - sent)
            parser.append(part)
            #expect(try parser.nextCommand() == nil)
            sizes.insert(parser.memoryByteCount)
            sent += part.count
        }
        #expect(sizes.count == 1, "regrown: \(sizes.sorted())")
        #expect(parser.memoryByteCount < size + size / 8)
        parser.append("\r\n".utf8)
        let command = try #require(try parser.nextCommand())
        #expect(command.byteCount(at: 1) == size)
    }

    @Test func `the tail has room for all that was announced`() throws {
        var parser = CommandParser()
        parser.append("*2\r\n$4\r\nECHO\r\n$1000000\r\n".utf8)
        #expect(try parser.nextCommand() == nil)
        parser.withUninitializedTail(atLeast: 1) { tail in
            #expect(tail.freeCapacity >= 1_000_002)
            for byte in 0..<1_000_000 { tail.append(UInt8(truncatingIfNeeded: byte)) }
        }
        parser.append("\r\n".utf8)
        let command = try #require(try parser.nextCommand())
        #expect(command.bytes(at: 1) == (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) })
    }

    @Test func `memory of a large request is given back, that of small ones is kept`() throws {
        var parser = CommandParser()
        var stream: [UInt8] = []
        CommandWriter.write(["ECHO", .bytes(Array(repeating: 1, count: 4 << 20))], to: &stream)
        parser.append(stream + "*1\r\n$4\r\nPI".utf8)
        #expect(try parser.nextCommand() != nil)
        #expect(parser.memoryByteCount >= 4 << 20)
        #expect(try parser.nextCommand() == nil)
        #expect(parser.memoryByteCount <= 128 << 10)
        parser.append("NG\r\n".utf8)
        let command = try #require(try parser.nextCommand())
        #expect(command.matches(0, "PING"))
    }

    @Test func `a command of many arguments leaves no long list behind`() throws {
        var parser = CommandParser()
        var stream: [UInt8] = []
        CommandWriter.write(Array(repeating: "a", count: 1024), to: &stream)
        parser.append(stream)
        #expect(try parser.nextCommand()?.count == 1024)
        let large = parser.memoryByteCount
        parser.append("*1\r\n$4\r\nPING\r\n".utf8)
        #expect(try parser.nextCommand()?.count == 1)
        #expect(parser.memoryByteCount <= large - 1000 * 8)
    }

    @Test func `whether a command has begun is known`() throws {
        var parser = CommandParser()
        parser.append("*1\r\n$4\r\nPI".utf8)
        #expect(try parser.nextCommand() == nil)
        #expect(parser.isInsideCommand == true)
        parser.append("NG\r\n".utf8)
        #expect(try parser.nextCommand() != nil)
        #expect(parser.isInsideCommand == false)
    }

    @Test func `a command that is kept stays what it was`() throws {
        var parser = CommandParser()
        var kept: [Command] = []
        for index in 0..<200 {
            var stream: [UInt8] = []
            CommandWriter.write(["KEEP", .integer(index), "and some more"], to: &stream)
            parser.append(stream + "say \"quoted \(index)\"\n".utf8)
            while let command = try parser.nextCommand() { kept.append(command) }
        }
        #expect(kept.count == 400)
        for index in 0..<200 {
            #expect(kept[2 * index].integer(at: 1) == index)
            #expect(kept[2 * index + 1].text(at: 1) == "quoted \(index)")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a megabyte that comes byte by byte is read once`() throws {
        var stream: [UInt8] = []
        CommandWriter.write(["ECHO", .bytes(Array(repeating: 65, count: 1 << 20))], to: &stream)
        stream += Array(repeating: UInt8(ascii: "a"), count: 60_000) + "\n".utf8
        var parser = CommandParser()
        var counts: [Int] = []
        for byte in stream {
            parser.append(CollectionOfOne(byte))
            if let command = try parser.nextCommand() {
                counts.append(command.byteCount(at: command.count - 1))
            }
        }
        #expect(counts == [1 << 20, 60_000])
    }

    @Test func `what a read has filled in counts, even if it throws then`() throws {
        struct Interrupted: Error {}
        var parser = CommandParser()
        #expect(throws: Interrupted.self) {
            try parser.withUninitializedTail(atLeast: 8) { tail throws(Interrupted) in
                for byte in "PING\n".utf8 { tail.append(byte) }
                throw Interrupted()
            }
        }
        #expect(try parser.nextCommand() != nil)
    }

    private func storageAddress(_ command: Command) -> UInt {
        unsafe command[0].withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    }
}
