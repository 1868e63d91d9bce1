// The functions of an ELF file, from its symbol table. What is not as it should be is no table.
//
// Layout (elf(5), 64 bits, little endian): the header has at 40 the offset of the section headers,
// at 58 the size of one, at 60 their count. A section header has at 4 its type, at 24 its offset,
// at 32 its size, at 40 the number of the section with its strings. A symbol (24 bytes) has at 0
// the offset of its name, at 4 its type in the lower four bits, at 8 its address, at 16 its size.

internal import Glibc

/// The functions of one image.
struct SymbolTable {
    private struct Function {
        let start: UInt
        let byteCount: UInt
        let nameOffset: Int
    }

    private let functions: [Function]
    private let strings: [UInt8]

    private static let sectionTypeOfSymbols: UInt32 = 2
    private static let symbolByteCount = 24
    private static let symbolTypeOfFunctions: UInt8 = 2

    /// A name is cut here: Swift's can be thousands of bytes.
    private static let nameByteCountMax = 1_024

    /// Reads the table of a file; an empty one if the file has none that can be read.
    init(of path: String) {
        var tables: ([Function], [UInt8]) = ([], [])
        do throws(SystemError) {
            tables = Self.tables(try MappedFile(path))
        } catch {
            // A file that is gone names nothing.
        }
        functions = tables.0.sorted { $0.start < $1.start }
        strings = tables.1
    }

    /// The function around an address in the file.
    func symbol(at address: UInt) -> (name: String, start: UInt)? {
        var low = 0
        var high = functions.count
        while low < high {
            let middle = (low + high) / 2
            if functions[middle].start <= address { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return nil }
        let function = functions[low - 1]
        guard address - function.start < max(1, function.byteCount) else { return nil }
        let name = strings[min(function.nameOffset, strings.count)...]
            .prefix(Self.nameByteCountMax).prefix { $0 != 0 }
        return (String(decoding: name, as: UTF8.self), function.start)
    }

    private static func tables(_ file: borrowing MappedFile) -> ([Function], [UInt8]) {
        guard file.integer(at: 0, as: UInt32.self) == 0x464C_457F,  // 0x7F "ELF"
            file.integer(at: 4, as: UInt8.self) == 2,
            let start = file.integer(at: 40, as: UInt64.self).flatMap({ Int(exactly: $0) }),
            let size = file.integer(at: 58, as: UInt16.self),
            let count = file.integer(at: 60, as: UInt16.self)
        else { return ([], []) }
        for index in 0..<Int(count) {
            let header = start + index * Int(size)
            guard file.integer(at: header + 4, as: UInt32.self) == sectionTypeOfSymbols,
                let link = file.integer(at: header + 40, as: UInt32.self),
                let symbols = section(file, header),
                let strings = section(file, start + Int(link) * Int(size))
            else { continue }
            return (functions(file, symbols), file.bytes(strings))
        }
        return ([], [])
    }

    private static func section(_ file: borrowing MappedFile, _ header: Int) -> Range<Int>? {
        guard let offset = file.integer(at: header + 24, as: UInt64.self),
            let size = file.integer(at: header + 32, as: UInt64.self),
            let start = Int(exactly: offset), let count = Int(exactly: size),
            start <= file.byteCount, count <= file.byteCount - start
        else { return nil }
        return start..<start + count
    }

    private static func functions(_ file: borrowing MappedFile, _ symbols: Range<Int>) -> [Function]
    {
        var functions: [Function] = []
        for place in stride(
            from: symbols.lowerBound, to: symbols.upperBound - symbolByteCount + 1,
            by: symbolByteCount)
        {
            guard let type = file.integer(at: place + 4, as: UInt8.self),
                type & 0xF == symbolTypeOfFunctions,
                let name = file.integer(at: place, as: UInt32.self),
                let start = file.integer(at: place + 8, as: UInt64.self),
                let size = file.integer(at: place + 16, as: UInt64.self), start != 0
            else { continue }
            functions.append(
                Function(start: UInt(start), byteCount: UInt(size), nameOffset: Int(name)))
        }
        return functions
    }
}

/// A file's bytes without reading all of them.
@safe
private struct MappedFile: ~Copyable {
    private let start: UnsafeRawPointer
    let byteCount: Int

    init(_ path: String) throws(SystemError) {
        let descriptor = try File.open("open \(path)", path, O_RDONLY)
        var status = stat()
        try retrying("fstat \(path)") { unsafe fstat(descriptor.number, &status) }
        let count = Int(status.st_size)
        let mapped = unsafe mmap(nil, max(1, count), PROT_READ, MAP_PRIVATE, descriptor.number, 0)
        guard let mapped = unsafe mapped, unsafe mapped != MAP_FAILED else {
            throw SystemError.last("mmap \(path)")
        }
        unsafe start = UnsafeRawPointer(mapped)
        byteCount = count
    }

    deinit { _ = unsafe munmap(UnsafeMutableRawPointer(mutating: start), max(1, byteCount)) }

    /// The integer at an offset; nil beyond the end.
    borrowing func integer<Integer: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int, as type: Integer.Type
    ) -> Integer? {
        let size = MemoryLayout<Integer>.size
        guard offset >= 0, size <= byteCount, offset <= byteCount - size else { return nil }
        return unsafe start.loadUnaligned(fromByteOffset: offset, as: type)
    }

    /// The bytes of a range that lies in the file.
    borrowing func bytes(_ range: Range<Int>) -> [UInt8] {
        unsafe Array(UnsafeRawBufferPointer(start: start + range.lowerBound, count: range.count))
    }
}
