// Questions whose answers are made later and may be large: results that the store has, listings,
// and descriptions of all threads. Each waits here, as a closure of a few hundred bytes, until
// there is room for its answer. So the memory that answers take does not grow with the number of
// clients or of their questions.
//
//     ask ──▶ client's line ──▶ granted, in turn with other clients ──▶ in flight ──▶ answered
//                 │                                                                     │
//                 └── throttled: the client's unread answers are at their limit ◀───────┘
//
// It knows clients by number and answers by size only, no socket and no job.

internal import Structures

/// The questions of all clients, and how many bytes their answers may take.
///
/// Confined to its owner's thread.
package final class QuestionQueue {
    /// The bounds of answers in flight and unread.
    package struct Limits: Sendable {
        /// Bytes of unread answers of all clients, and of those in flight, behind which nothing is
        /// granted.
        package var byteCountMax = 64 << 20
        /// The same of one client.
        package var clientByteCountMax = 1 << 20
        /// Lookups of single jobs in flight: as many as share a turn of the store well.
        package var lookupCountMax = 8
        /// Listings in flight: each takes the store a slice per turn.
        package var listingCountMax = 2
        /// Answers about the present state in flight: each is made in one go.
        package var stateCountMax = 1

        package init() {}
    }

    /// The kind of a question.
    package enum Kind: Int, CaseIterable, Sendable {
        case lookup, listing, state
    }

    /// The right to make one answer.
    ///
    /// Keep it until the answer is handed to the client; its end gives the room back.
    package final class Grant {
        private let end: () -> Void

        fileprivate init(_ end: @escaping () -> Void) { self.end = end }

        deinit { end() }
    }

    private struct Question {
        /// In the order in which they were asked.
        let number: UInt64
        let byteCount: Int
        let begin: (Grant) -> Void
    }

    /// The questions of one kind.
    private struct Line {
        var questions: [UInt64: FIFO<Question>] = [:]
        /// The clients whose next question may be granted, in turn.
        var turns = FIFO<UInt64>()
        /// The clients whose unread answers are at their limit.
        var throttled: Set<UInt64> = []
        var inFlightCount = 0
    }

    private let limits: Limits
    private var lines = Kind.allCases.map { _ in Line() }
    /// The unread bytes of clients that have many.
    private var backlogs: [UInt64: Int] = [:]
    private var backlogSum = 0
    /// The bytes of answers, by client, that wait for an earlier one of that client.
    private var early: [UInt64: Int] = [:]
    private var lastNumber: UInt64 = 0
    /// The expected bytes of the answers in flight, by client.
    private var expected: [UInt64: Int] = [:]
    private var expectedSum = 0
    /// Told once when `advance` has something to do.
    private let whenRoom: () -> Void
    private var isAdvanceDue = false

    /// - Parameter whenRoom: has `advance` called soon, not from inside.
    package init(_ limits: Limits = Limits(), whenRoom: @escaping () -> Void) {
        self.limits = limits
        self.whenRoom = whenRoom
    }

    /// How many questions have not been granted.
    package var waitingCount: Int {
        lines.reduce(0) { $0 + $1.questions.values.reduce(0) { $0 + $1.count } }
    }

    /// How many bytes are unread or in flight.
    package var byteCount: Int { backlogSum + expectedSum }

    /// Whether there is no room for more.
    package var isFull: Bool { byteCount >= limits.byteCountMax }

    /// Whether questions wait because clients do not read their answers.
    package var isExhausted: Bool {
        // A client that has left keeps its turn until it is passed over.
        isFull
            && lines.contains { line in line.turns.contains { line.questions[$0] != nil } }
    }

    /// Asks something for a client.
    ///
    /// - Parameters:
    ///   - byteCount: the expected size of the answer.
    ///   - begin: makes the answer, now or later; never called once the client has left.
    package func ask(
        _ kind: Kind, byteCount: Int, for client: UInt64, begin: @escaping (Grant) -> Void
    ) {
        lastNumber += 1
        let question = Question(number: lastNumber, byteCount: byteCount, begin: begin)
        if lines[kind.rawValue].questions[client]?.append(question) == nil {
            var own = FIFO<Question>()
            own.append(question)
            lines[kind.rawValue].questions[client] = own
            lines[kind.rawValue].turns.append(client)
        }
        advance()
    }

    /// So many bytes of answers wait for a client to read them.
    ///
    /// - Parameter earlyByteCount: of answers that can't be sent to it before an earlier one.
    package func noteBacklog(_ byteCount: Int, early earlyByteCount: Int = 0, of client: UInt64) {
        let (before, earlyBefore) = (backlogs[client] ?? 0, early[client] ?? 0)
        guard byteCount != before || earlyByteCount != earlyBefore else { return }
        backlogs[client] = byteCount > 0 ? byteCount : nil
        early[client] = earlyByteCount > 0 ? earlyByteCount : nil
        backlogSum += byteCount - before
        if byteCount < before || earlyByteCount < earlyBefore { roomMayBe(for: client) }
    }

    /// A client has left: its questions are dropped.
    package func forget(_ client: UInt64) {
        for kind in lines.indices {
            // Its turn is passed over when it comes.
            lines[kind].questions[client] = nil
            lines[kind].throttled.remove(client)
        }
        noteBacklog(0, of: client)
    }

    /// Grants the questions that there is room for.
    package func advance() {
        isAdvanceDue = false
        for kind in Kind.allCases {
            while let question = next(kind) { question() }
        }
    }

    /// Takes the next question that may be granted.
    ///
    /// - Returns: begins it.
    private func next(_ kind: Kind) -> (() -> Void)? {
        let place = kind.rawValue
        let inFlightMax =
            switch kind {
            case .lookup: limits.lookupCountMax
            case .listing: limits.listingCountMax
            case .state: limits.stateCountMax
            }
        while lines[place].inFlightCount < inFlightMax, byteCount < limits.byteCountMax,
            let client = lines[place].turns.popFirst()
        {
            guard let question = lines[place].questions[client]?.first else { continue }
            guard hasRoom(for: question, of: client) else {
                lines[place].throttled.insert(client)
                continue
            }
            _ = lines[place].questions[client]?.popFirst()
            if lines[place].questions[client]?.isEmpty == true {
                lines[place].questions[client] = nil
            } else {
                lines[place].turns.append(client)
            }
            return { question.begin(self.grant(question, kind, to: client)) }
        }
        return nil
    }

    /// Whether a client may have the answer to its next question of a kind.
    ///
    /// Answers that wait for an earlier one count, but not against its oldest question: they may
    /// wait for just that.
    private func hasRoom(for question: Question, of client: UInt64) -> Bool {
        var byteCount = (backlogs[client] ?? 0) + (expected[client] ?? 0)
        if !isOldest(question, of: client) { byteCount += early[client] ?? 0 }
        return byteCount < limits.clientByteCountMax
    }

    private func isOldest(_ question: Question, of client: UInt64) -> Bool {
        lines.allSatisfy { line in
            line.questions[client]?.first.map { $0.number >= question.number } != false
        }
    }

    private func grant(_ question: Question, _ kind: Kind, to client: UInt64) -> Grant {
        lines[kind.rawValue].inFlightCount += 1
        expected[client, default: 0] += question.byteCount
        expectedSum += question.byteCount
        return Grant { [weak self] in
            self?.ended(question.byteCount, kind, of: client)
        }
    }

    private func ended(_ byteCount: Int, _ kind: Kind, of client: UInt64) {
        lines[kind.rawValue].inFlightCount -= 1
        let left = (expected[client] ?? 0) - byteCount
        expected[client] = left > 0 ? left : nil
        expectedSum -= byteCount
        roomMayBe(for: client)
    }

    private func roomMayBe(for client: UInt64) {
        for kind in lines.indices where lines[kind].throttled.contains(client) {
            guard let question = lines[kind].questions[client]?.first,
                hasRoom(for: question, of: client)
            else { continue }
            lines[kind].throttled.remove(client)
            lines[kind].turns.append(client)
        }
        guard !isAdvanceDue, lines.contains(where: { !$0.turns.isEmpty }) else { return }
        isAdvanceDue = true
        whenRoom()
    }
}
