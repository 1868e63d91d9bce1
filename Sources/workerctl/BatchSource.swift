// Where the payloads of many jobs come from: one for each file, or one for each line of standard
// input. They are read one at a time, when there is room for the next.

internal import Kernel
internal import Synchronization

/// The payload of one job of many.
struct BatchInput: Sendable {
    /// Its name for people: the file's path, or `line 3`.
    let name: String
    let payload: Result<[UInt8], Failure>
}

/// The payloads of many jobs, in order.
final class BatchSource: Sendable {
    private enum Rest {
        case files(ArraySlice<String>)
        case lines(LineReader)
    }

    /// How many there are; nil if that is not known before the end.
    let count: Int?
    private let rest: Mutex<Rest>

    /// One payload for each file; `-` is standard input.
    init(files: [String]) {
        count = files.count
        rest = Mutex(.files(files[...]))
    }

    /// One payload for each line of standard input, without its line feed.
    init(linesOf input: consuming Descriptor) {
        count = nil
        rest = Mutex(.lines(LineReader(input)))
    }

    /// The next one; nil at the end.
    ///
    /// - Blocks: until it is there.
    func next() throws(Failure) -> BatchInput? {
        try rest.withLock { (rest) throws(Failure) in
            switch rest {
            case .files(var paths):
                guard let path = paths.popFirst() else { return nil }
                rest = .files(paths)
                return BatchInput(
                    name: path,
                    payload: Result { () throws(Failure) in
                        try Payload.content(ofFile: path)
                    })
            case .lines(let reader):
                guard let line = try reader.next() else { return nil }
                return BatchInput(name: "line \(reader.lineCount)", payload: .success(line))
            }
        }
    }
}

/// Cuts a stream into lines as it comes.
private final class LineReader {
    /// A longer line is refused: it would have to be in memory whole.
    private static let byteCountMax = 1 << 30
    private static let chunkByteCount = 65_536

    private let input: Descriptor
    private var bytes: [UInt8] = []
    /// Where the next line begins.
    private var start = 0
    /// The first byte in which a line feed was not looked for yet.
    private var searched = 0
    private var isOver = false
    private(set) var lineCount = 0

    init(_ input: consuming Descriptor) { self.input = input }

    func next() throws(Failure) -> [UInt8]? {
        while true {
            if let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                return takeLine(upTo: end, next: end + 1)
            }
            searched = bytes.count
            if isOver {
                return start < bytes.count ? takeLine(upTo: searched, next: searched) : nil
            }
            try readMore()
        }
    }

    private func takeLine(upTo end: Int, next: Int) -> [UInt8] {
        defer { (start, searched) = (next, next) }
        lineCount += 1
        return Array(bytes[start..<end])
    }

    private func readMore() throws(Failure) {
        bytes.removeFirst(start)
        (start, searched) = (0, searched - start)
        guard bytes.count <= Self.byteCountMax else {
            throw Failure(
                what: "can't read line \(lineCount + 1) of standard input",
                reason: "it has more than \(Self.byteCountMax >> 20) MiB", status: .noInput)
        }
        do throws(SystemError) {
            isOver = try !input.readSome(appendingTo: &bytes, atMost: Self.chunkByteCount)
        } catch {
            throw Failure(
                what: "can't read standard input", reason: error.reason, status: .noInput)
        }
    }
}
