// A place in the source code, three words wide: what a default argument fills in.

package import Kernel

/// A line of a source file, as `#fileID` and `#line` name it.
public struct CodeLocation: Sendable, Equatable, CustomStringConvertible {
    /// Where the file's name is, which is a literal and so there for ever; 0 for no name.
    let address: UInt
    let byteCount: Int
    /// The line, from 1 on.
    public let line: UInt

    /// A place; without arguments, the caller's own.
    public init(fileID: StaticString = #fileID, line: UInt = #line) {
        // A literal of one character may be stored as that character; no file is named so.
        let hasPointer = fileID.hasPointerRepresentation
        address = hasPointer ? UInt(bitPattern: unsafe fileID.utf8Start) : 0
        byteCount = hasPointer ? fileID.utf8CodeUnitCount : 0
        self.line = line
    }

    init(address: UInt, byteCount: Int, line: UInt) {
        self.address = address
        self.byteCount = byteCount
        self.line = line
    }

    /// The file, as in `Module/File.swift`.
    public var fileID: String {
        // SAFETY: the address is that of a literal, or 0.
        let start = unsafe UnsafePointer<UInt8>(bitPattern: address)
        return unsafe String(
            decoding: UnsafeBufferPointer(start: start, count: byteCount), as: UTF8.self)
    }

    /// `Module/File.swift:12`.
    public var description: String { "\(fileID):\(line)" }

    /// Whether both name the same line of the same file.
    public static func == (left: CodeLocation, right: CodeLocation) -> Bool {
        left.line == right.line
            && (left.address == right.address || left.fileID == right.fileID)
    }
}

/// Where and when something was posted to a loop; there only while the loop is measured.
package final class Posted: Sendable {
    package let location: CodeLocation
    package let instant: Instant

    package init(_ fileID: StaticString, _ line: UInt, at instant: Instant) {
        location = CodeLocation(fileID: fileID, line: line)
        self.instant = instant
    }
}
