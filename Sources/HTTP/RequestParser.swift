// From the bytes of a client to requests: a strict subset of RFC 9112. Owns the input buffer;
// knows neither sockets nor the meaning of a path.
//
// Two servers that understand one stream of bytes differently let a client smuggle a request past
// the first. So every form that is read in more than one way is refused, and nothing behind a
// refused request is ever looked at.

/// A part of a request.
package enum RequestPart: Sendable, Equatable {
    /// A request has begun. Its body follows, also if it is empty.
    case head(RequestHead)
    /// The request is complete.
    case body([UInt8])
}

/// Reads requests from the bytes of one connection.
///
/// - Thread: one at a time.
/// - Complexity: O(1) per byte over the life of the connection.
package struct RequestParser: ~Copyable, Sendable {
    /// The most bytes of a request's line and header.
    package static let headByteCountMax = 16 << 10
    /// The most fields of a header.
    package static let fieldCountMax = 64
    /// The type of a record with a handshake of TLS (RFC 8446, 5.1).
    private static let tlsHandshake: UInt8 = 22
    /// The memory that stays when nothing is pending.
    private static let retainedByteCountMax = 64 << 10

    /// The largest piece of memory that is shared; that of a larger body is freed.
    private static let sharedByteCountMax = 256 << 10

    /// The longest body that is read; applies from the next head on.
    package var bodyByteCountMax: Int

    private var bytes: [UInt8] = []
    /// The offset of the first pending byte.
    private var start = 0
    /// The part of the pending bytes that was looked at for the end of the head.
    private var scannedCount = 0
    /// The offset behind the line that was read last, from `start`.
    private var lineStart = 0
    private var line: RequestLine?
    private var fields: [RequestHead.Field] = []
    /// The length of the body that is being read; nil outside of one.
    private var bodyByteCount: Int?
    private var refusal: HTTPRefusal?

    /// Creates a parser that holds no memory yet.
    package init(bodyByteCountMax: Int) { self.bodyByteCountMax = bodyByteCountMax }

    /// The memory that the parser holds, in bytes.
    package var memoryByteCount: Int { bytes.capacity }

    /// How many bytes of the client wait for the rest of their request.
    package var pendingByteCount: Int { bytes.count - start }

    /// Whether a request has begun and its head is not complete.
    package var isInsideHead: Bool { bodyByteCount == nil && pendingByteCount > 0 }

    /// Whether a request has begun and is not complete.
    package var isInsideRequest: Bool { bodyByteCount != nil || pendingByteCount > 0 }

    /// Lets `body` append bytes of the client in place.
    ///
    /// - Parameter minimum: the least room there is.
    package mutating func withUninitializedTail<Failure>(
        atLeast minimum: Int, _ body: (inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        closeUp()
        try bytes.append(addingCapacity: minimum, initializingWith: body)
    }

    /// Takes the memory for the bytes to come from a buffer that the parsers of many connections
    /// share, if this one holds none.
    package mutating func takeMemory(_ spare: inout [UInt8]) {
        if bytes.capacity == 0 { swap(&bytes, &spare) }
    }

    /// Gives the memory back for the next parser, unless bytes wait for the rest of their request.
    package mutating func giveMemory(_ spare: inout [UInt8]) {
        guard pendingByteCount == 0, bytes.capacity > 0 else { return }
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.sharedByteCountMax)
        start = 0
        spare = []
        swap(&bytes, &spare)
    }

    /// Takes the next part out of the buffer; nil if more bytes are needed.
    ///
    /// - Throws: the refusal, again at each further call.
    package mutating func next() throws(HTTPRefusal) -> RequestPart? {
        if let refusal { throw refusal }
        do throws(HTTPRefusal) {
            return try bodyByteCount == nil ? nextHead() : nextBody()
        } catch {
            refusal = error
            bytes = []
            start = 0
            throw error
        }
    }

    private mutating func nextBody() -> RequestPart? {
        guard let count = bodyByteCount, pendingByteCount >= count else { return nil }
        let body = Array(bytes[start..<start + count])
        start += count
        bodyByteCount = nil
        return .body(body)
    }

    /// Looks at each byte of a head once, in order.
    private mutating func nextHead() throws(HTTPRefusal) -> RequestPart? {
        if start < bytes.count, bytes[start] == Self.tlsHandshake { throw .tlsHandshake }
        while start + scannedCount < bytes.count {
            let byte = bytes[start + scannedCount]
            let isBehindReturn =
                scannedCount > 0 && bytes[start + scannedCount - 1] == HTTPByte.carriageReturn
            guard (byte == HTTPByte.lineFeed) == isBehindReturn, byte != 0 else {
                throw HTTPRefusal(
                    .badRequest, byte == 0 ? "a head has no NUL" : "a line ends with CR and LF")
            }
            scannedCount += 1
            guard scannedCount <= Self.headByteCountMax else {
                throw HTTPRefusal(
                    .headerFieldsTooLarge,
                    "line and header have more than \(Self.headByteCountMax) bytes")
            }
            if byte == HTTPByte.lineFeed, let head = try readLine() { return .head(head) }
        }
        return nil
    }

    /// Reads the line that ends where the scan has come to.
    ///
    /// - Returns: the head, if the line was its last.
    private mutating func readLine() throws(HTTPRefusal) -> RequestHead? {
        let text = bytes[start + lineStart..<start + scannedCount - 2]
        lineStart = scannedCount
        guard let line else {
            line = try RequestLine(text)
            return nil
        }
        guard text.isEmpty else {
            guard fields.count < Self.fieldCountMax else {
                throw HTTPRefusal(
                    .headerFieldsTooLarge,
                    "the header has more than \(Self.fieldCountMax) fields")
            }
            fields.append(try RequestHead.Field(text))
            return nil
        }
        let head = try RequestHead(line, fields, bodyByteCountMax: bodyByteCountMax)
        start += scannedCount
        (scannedCount, lineStart) = (0, 0)
        self.line = nil
        fields = []
        bodyByteCount = head.bodyByteCount
        return head
    }

    /// Drops the consumed bytes in front of the pending ones, if these are fewer.
    private mutating func closeUp() {
        if refusal != nil || start == bytes.count {
            bytes.removeAll(keepingCapacity: bytes.capacity <= Self.retainedByteCountMax)
            start = 0
        } else if start >= pendingByteCount {
            bytes.removeSubrange(..<start)
            start = 0
        }
    }
}

extension RequestHead.Field {
    /// Reads a line of a header, without its CR and LF.
    init(_ line: ArraySlice<UInt8>) throws(HTTPRefusal) {
        if line.first == HTTPByte.space || line.first == HTTPByte.tab {
            throw HTTPRefusal(.badRequest, "a field that goes on in the next line is refused")
        }
        guard let colon = line.firstIndex(of: HTTPByte.colon), colon > line.startIndex,
            line[..<colon].allSatisfy(HTTPByte.isToken)
        else { throw HTTPRefusal(.badRequest, "a line of the header is no field") }
        var value = line[(colon + 1)...]
        let isBlank = { (byte: UInt8) in byte == HTTPByte.space || byte == HTTPByte.tab }
        value = value.drop(while: isBlank)
        while let last = value.last, isBlank(last) { value.removeLast() }
        guard value.allSatisfy(HTTPByte.isFieldText) else {
            throw HTTPRefusal(.badRequest, "a field has a control character")
        }
        name = String(decoding: line[..<colon].map(HTTPByte.small), as: UTF8.self)
        self.value = Array(value)
    }
}
