// The meaning of addresses of code: their image and their function, found by the dynamic linker
// and, for what that does not know, by the symbol table of the image's file. A program that was
// stripped has none: then the image and the offset are told, which addr2line understands.

internal import CLinux
internal import Glibc

/// Names functions by addresses in them.
package enum Symbols {
    /// One line for each return address: `function + 12 in image`.
    ///
    /// - Parameter addresses: as `ThreadBacktrace` gives them, the innermost first.
    /// - Thread: any; not in a signal handler.
    /// - Blocks: for the disk, where a symbol table is to be read.
    package static func describe(_ addresses: [UInt]) -> [String] {
        var tables: [String: SymbolTable] = [:]
        return addresses.enumerated().map { index, address in
            // A return address may be behind the end of a function whose last instruction is a
            // call.
            let inside = index == 0 ? address : address &- 1
            var found = unsafe clinux_symbol()
            guard unsafe clinux_find_symbol(inside, &found) != 0 else {
                return hexadecimal(address)
            }
            let place = unsafe Place(found, of: inside)
            if let symbol = place.symbol {
                return line(symbol.name, inside &- symbol.start, place.image)
            }
            if tables[place.path] == nil { tables[place.path] = SymbolTable(of: place.path) }
            let offset = inside &- place.base
            if let symbol = tables[place.path]?.symbol(at: offset) {
                return line(symbol.name, offset &- symbol.start, place.image)
            }
            return "\(place.image) + \(hexadecimal(offset))"
        }
    }

    /// An address as the dynamic linker explains it.
    private struct Place {
        private static let program = "/proc/self/exe"

        let path: String
        let base: UInt
        let symbol: (name: String, start: UInt)?

        init(_ found: clinux_symbol, of address: UInt) {
            base = unsafe found.base
            // The program itself is known by the name that it was called by, which may be no path.
            let isProgram = base == clinux_program_headers() & ~0xFFF
            let image = unsafe found.image.map { unsafe String(cString: $0) }
            path = isProgram ? Self.program : image ?? ""
            symbol = unsafe found.name.map { unsafe (String(cString: $0), UInt(found.start)) }
        }

        var image: String {
            if path == Self.program { return "the program" }
            return path.split(separator: "/").last.map { String($0) } ?? path
        }
    }

    private static func line(_ name: String, _ offset: UInt, _ image: String) -> String {
        "\(demangled(name)) + \(offset) in \(image)"
    }

    private static func hexadecimal(_ address: UInt) -> String {
        "0x" + String(address, radix: 16)
    }

    /// A Swift symbol as it is written in the source; any other as it is.
    package static func demangled(_ name: String) -> String {
        guard name.hasPrefix("$s") || name.hasPrefix("$S") || name.hasPrefix("_T") else {
            return name
        }
        // With the zero behind it: the runtime looks for one whatever length it is told.
        let found = unsafe name.withCString {
            unsafe swift_demangle($0, name.utf8.count, nil, nil, 0)
        }
        guard let text = unsafe found else { return name }
        defer { unsafe free(text) }
        return unsafe String(cString: text)
    }
}
