// Questions of clients, granted in turn within limits: random clients that ask, read late and
// leave.

import Support
import Testing
import WorkerDaemon

@Suite struct `Questions of clients` {
    private static func limits() -> QuestionQueue.Limits {
        var limits = QuestionQueue.Limits()
        limits.byteCountMax = 100
        limits.clientByteCountMax = 30
        limits.lookupCountMax = 3
        limits.listingCountMax = 1
        return limits
    }

    @Test func `clients are granted in turn, however many questions one has`() {
        let queue = QuestionQueue(Self.limits(), whenRoom: {})
        var granted: [UInt64] = []
        var grants: [QuestionQueue.Grant] = []
        for client: UInt64 in [1, 1, 1, 1, 2, 3] {
            queue.ask(.listing, byteCount: 1, for: client) {
                granted.append(client)
                grants.append($0)
            }
        }
        #expect(granted == [1])
        while !grants.isEmpty {
            grants.removeFirst()
            queue.advance()
        }
        #expect(granted == [1, 1, 2, 3, 1, 1])
        #expect(queue.byteCount == 0)
    }

    @Test func `a client with a full backlog is held, and others go on`() {
        let queue = QuestionQueue(Self.limits(), whenRoom: {})
        var granted: [UInt64] = []
        queue.noteBacklog(30, of: 1)
        for client: UInt64 in [1, 2] {
            queue.ask(.lookup, byteCount: 1, for: client) { _ in granted.append(client) }
        }
        #expect(granted == [2])
        queue.noteBacklog(29, of: 1)
        queue.advance()
        #expect(granted == [2, 1])
    }

    @Test func `answers about the present state are granted one after another`() {
        let queue = QuestionQueue(Self.limits(), whenRoom: {})
        var granted: [UInt64] = []
        var grants: [QuestionQueue.Grant] = []
        for client: UInt64 in [1, 2, 1] {
            queue.ask(.state, byteCount: 1, for: client) {
                granted.append(client)
                grants.append($0)
            }
        }
        for expected: [UInt64] in [[1], [1, 2], [1, 2, 1]] {
            #expect(granted == expected)
            grants.removeAll()
            queue.advance()
        }
        #expect(queue.byteCount == 0)
    }

    @Test func `questions of a client that has left are dropped`() {
        let queue = QuestionQueue(Self.limits(), whenRoom: {})
        var grants: [QuestionQueue.Grant] = []
        for client: UInt64 in [1, 2] {
            queue.ask(.listing, byteCount: 5, for: client) { grants.append($0) }
        }
        queue.forget(2)
        #expect(queue.waitingCount == 0)
        grants.removeAll()
        queue.advance()
        #expect(grants.isEmpty && queue.byteCount == 0)
    }

    @Test func `nothing is granted while all clients' unread answers are at the limit`() {
        let queue = QuestionQueue(Self.limits(), whenRoom: {})
        var granted: [UInt64] = []
        for client: UInt64 in 1...4 { queue.noteBacklog(25, of: client) }
        queue.ask(.lookup, byteCount: 1, for: 5) { _ in granted.append(5) }
        #expect(granted.isEmpty && queue.isExhausted)
        queue.forget(3)
        queue.advance()
        #expect(granted == [5] && !queue.isExhausted)
        queue.noteBacklog(25, of: 3)
        queue.ask(.lookup, byteCount: 1, for: 6) { _ in granted.append(6) }
        #expect(queue.isExhausted)
        queue.forget(6)
        #expect(!queue.isExhausted, "nobody waits for that room any more")
    }

    /// A client whose answers go out in the order of its commands.
    private struct Client {
        /// The sizes of its answers; nil for those that are not there yet.
        var answers: [Int?] = []
        /// How many of them have gone out.
        var sentCount = 0
        var unread = 0

        var early: Int { answers.dropFirst(sentCount).reduce(0) { $0 + ($1 ?? 0) } }

        mutating func answer(_ place: Int, _ byteCount: Int) {
            answers[place] = byteCount
            while sentCount < answers.count, let next = answers[sentCount] {
                unread += next
                sentCount += 1
            }
        }
    }

    @Test(arguments: UInt64(1)...20)
    func `every question of a client that reads is granted, within the limits`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var isRoomTold = false
        let queue = QuestionQueue(Self.limits(), whenRoom: { isRoomTold = true })
        var clients = Array(repeating: Client(), count: 5)
        var grants:
            [(client: Int, place: Int, kind: QuestionQueue.Kind, grant: QuestionQueue.Grant)] = []
        var (askedCount, grantedCount) = (0, 0)
        func note(_ client: Int) {
            queue.noteBacklog(
                clients[client].unread, early: clients[client].early, of: UInt64(client))
        }
        func ask() {
            let client = random.below(clients.count)
            // A client with so much to read is not listened to.
            guard clients[client].unread + clients[client].early < 60 else { return }
            let place = clients[client].answers.count
            clients[client].answers.append(nil)
            if random.chance(40) {
                // Answered at once, though maybe behind a question.
                clients[client].answer(place, random.below(20))
                return note(client)
            }
            let kind: QuestionQueue.Kind = random.chance(50) ? .lookup : .listing
            askedCount += 1
            queue.ask(kind, byteCount: 1 + random.below(20), for: UInt64(client)) {
                grantedCount += 1
                grants.append((client, place, kind, $0))
            }
        }
        func answer() {
            guard !grants.isEmpty else { return }
            let (client, place, _, _) = grants.remove(at: random.below(grants.count))
            clients[client].answer(place, random.below(20))
            note(client)
        }
        func read() {
            let client = random.below(clients.count)
            clients[client].unread = random.below(clients[client].unread + 1)
            note(client)
        }
        func step(_ body: () -> Void) {
            body()
            if isRoomTold {
                isRoomTold = false
                queue.advance()
            }
            #expect(grants.count { $0.kind == .lookup } <= 3)
            #expect(grants.count { $0.kind == .listing } <= 1)
            #expect(queue.byteCount >= 0 && queue.waitingCount >= 0)
            #expect(clients.allSatisfy { $0.early < 60 + 30 + 20 })
        }
        for _ in 0..<2_000 {
            switch random.below(10) {
            case ..<3: step(ask)
            case ..<6: step(answer)
            default: step(read)
            }
        }
        for _ in 0..<20_000 where grantedCount < askedCount || !grants.isEmpty {
            step(answer)
            step(read)
        }
        #expect(grantedCount == askedCount)
    }
}
