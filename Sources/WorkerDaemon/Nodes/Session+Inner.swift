// Answers of this node that are parts of an answer of several nodes. Such an answer has a slot of
// its own, outside of the order of the client's answers.

internal import Jobs
internal import RESP

extension Session {
    /// An answer that is a part of another one.
    struct InnerAnswer {
        /// The number of the client's slot.
        let outer: UInt64
        let take: (RESPValue) -> Void
    }

    /// The numbers from here on are of slots of parts: no client gets so far.
    static let innerSlotMin: UInt64 = 1 << 62

    /// Reserves slots for parts while `body` executes a command.
    ///
    /// - Parameters:
    ///   - body: executes the command; returns its answer if it has no slot.
    ///   - take: gets the answer, now or later; never once the client has left.
    func asPart(
        of slot: ReplyToken, _ take: @escaping (RESPValue) -> Void, _ body: () -> RESPValue?
    ) {
        let number = (innerAnswers.keys.max() ?? Self.innerSlotMin) + 1
        innerAnswers[number] = InnerAnswer(outer: slot.number, take: take)
        var answer: RESPValue?
        withSlot(numbered: number) { answer = body() }
        guard let answer, innerAnswers.removeValue(forKey: number) != nil else { return }
        take(answer)
    }

    /// The number of the client's slot that an answer is for.
    func outerNumber(of slot: ReplyToken) -> UInt64 {
        slot.number < Self.innerSlotMin
            ? slot.number : innerAnswers[slot.number]?.outer ?? slot.number
    }

    /// Gives the answer of a part's slot.
    ///
    /// - Returns: whether it is one.
    func fillInner(_ slot: ReplyToken, _ answer: Answer) -> Bool {
        guard slot.number >= Self.innerSlotMin else { return false }
        innerAnswers.removeValue(forKey: slot.number)?.take(value(of: answer))
        return true
    }

    /// An answer as a value, also if it has been written already.
    private func value(of answer: Answer) -> RESPValue {
        switch answer {
        case .value(let value): return value
        case .encoded(let bytes): return RESPValue(reply: bytes) ?? .null
        case .rows(let bytes, let count, _):
            var reply: [UInt8] = []
            replyVersions.writer.writeArrayHeader(count: count, to: &reply)
            return RESPValue(reply: reply + bytes) ?? .null
        }
    }
}

extension Session {
    /// Whether commands for all nodes are for this one: the client is another node, or speaks HTTP.
    var isForOne: Bool { isLink || conversation != nil }

    /// The same, or there is no other node.
    func isAlone(_ owners: any ThreadOwners) -> Bool { isForOne || owners.others.isEmpty }
}
