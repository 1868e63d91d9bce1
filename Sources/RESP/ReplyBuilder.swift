// Puts the pieces of a reply together: scalars into arrays, arrays into arrays. A stack instead of
// recursion, because the pieces come with the reads. Knows nothing of bytes.

/// A piece of a reply: a complete value, or the beginning of an aggregate.
enum ReplyPart {
    case scalar(RESPValue)
    /// - Parameter count: entries of a map or an attribute, else elements.
    case aggregate(Aggregate, count: Int)

    enum Aggregate {
        case array, map, set, push, attribute
    }
}

/// The unfinished aggregates of one reply, the outermost first.
struct ReplyBuilder: Sendable {
    private struct Frame: Sendable {
        let kind: ReplyPart.Aggregate
        var remaining: Int
        var elements: [RESPValue]
    }

    private let limits: ReplyLimits
    private var frames: [Frame] = []
    private var announcedElements = 0

    init(limits: ReplyLimits) {
        self.limits = limits
    }

    /// Whether there are pieces of a reply that was not returned yet.
    var isInsideReply: Bool { announcedElements > 0 }

    /// Takes the next piece.
    ///
    /// - Returns: the reply, if this was its last piece.
    mutating func add(_ token: ReplyPart) throws(ProtocolError) -> RESPValue? {
        switch token {
        case .scalar(let value):
            return close(with: value)
        case .aggregate(let kind, let count):
            return try open(kind, count: count)
        }
    }

    private mutating func open(
        _ kind: ReplyPart.Aggregate, count: Int
    ) throws(ProtocolError) -> RESPValue? {
        let limit = limits.elementCountMax
        guard count <= limit else {
            throw .lengthOverLimit(.aggregate, length: count, limit: limit)
        }
        let elementCount = kind == .map || kind == .attribute ? 2 * count : count
        announcedElements += elementCount
        guard announcedElements <= limit else {
            throw .tooManyElements(count: announcedElements, limit: limit)
        }
        guard frames.count < limits.depthMax else { throw .replyTooDeep(limit: limits.depthMax) }
        frames.append(Frame(kind: kind, remaining: elementCount, elements: []))
        if elementCount == 0 { return closeFrame() }
        // Only some are reserved: the announced elements may never come.
        frames[frames.count - 1].elements.reserveCapacity(min(elementCount, 256))
        return nil
    }

    /// Adds a value to the innermost aggregate, and closes every aggregate that this completes.
    private mutating func close(with value: RESPValue) -> RESPValue? {
        guard let innermost = frames.indices.last else {
            announcedElements = 0
            return value
        }
        // The contents of an attribute are dropped at once.
        if frames[innermost].kind != .attribute { frames[innermost].elements.append(value) }
        frames[innermost].remaining -= 1
        return frames[innermost].remaining == 0 ? closeFrame() : nil
    }

    /// Closes the innermost aggregate with its value.
    ///
    /// It calls `close`, and `close` calls it, once for each level that is complete: at most
    /// `depthMax` times.
    private mutating func closeFrame() -> RESPValue? {
        let frame = frames.removeLast()
        switch frame.kind {
        case .array: return close(with: .array(frame.elements))
        case .set: return close(with: .set(frame.elements))
        case .push: return close(with: .push(frame.elements))
        case .map:
            let entries = stride(from: 0, to: frame.elements.count, by: 2).map {
                RESPValue.Entry(frame.elements[$0], frame.elements[$0 + 1])
            }
            return close(with: .map(entries))
        case .attribute: return nil
        }
    }
}
