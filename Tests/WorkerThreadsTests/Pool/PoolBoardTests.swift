// The next work of each member of a pool: the rules one by one, then any sequence of calls against
// a model that looks through plain arrays.

import Support
import Testing
import WorkerThreads

@Suite struct `Pool board` {
    @Test func `own and shared work go by priority, then by sequence`() {
        var board = PoolBoard<String>(memberCount: 2)
        _ = board.push("shared 1", to: .shared, lane: 1)
        _ = board.push("own 2", to: .own(member: 0), lane: 1)
        _ = board.push("shared 3", to: .shared, lane: 1)
        _ = board.push("low 4", to: .own(member: 0), lane: 2)
        _ = board.push("high 5", to: .shared, lane: 0)
        let taken = (0..<6).map { _ in board.next(for: 0) }
        #expect(taken == ["high 5", "shared 1", "own 2", "shared 3", "low 4", nil])
    }

    @Test func `the member that rested last is woken, and only once`() {
        var board = PoolBoard<Int>(memberCount: 3)
        for member in [0, 1, 2] { #expect(rest(&board, member)) }
        let wakes = (0..<4).map { board.push($0, to: .shared, lane: 1).wake }
        #expect(wakes == [2, 1, 0, nil])
    }

    @Test func `an addressed member is woken for its own work, no other one`() {
        var board = PoolBoard<Int>(memberCount: 2)
        #expect(rest(&board, 0) && rest(&board, 1))
        #expect(board.push(1, to: .own(member: 0), lane: 1).wake == 0)
        #expect(board.push(2, to: .own(member: 0), lane: 1).wake == nil)
        let other = board.next(for: 1)
        #expect(other == nil)
    }

    @Test func `a member that finds work though nobody woke it counts as busy`() {
        var board = PoolBoard<Int>(memberCount: 2)
        #expect(rest(&board, 0) && rest(&board, 1))
        #expect(board.push(1, to: .shared, lane: 1).wake == 1)
        let taken = board.next(for: 0)
        #expect(taken == 1)
        #expect(rest(&board, 1))
        #expect(board.push(2, to: .shared, lane: 1).wake == 1)
        #expect(board.push(3, to: .shared, lane: 1).wake == nil)
    }

    @Test func `a member that leaves or ends hands on what it was woken for`() {
        for leaves in [0, 1, 2] {
            var board = PoolBoard<Int>(memberCount: 2)
            #expect(rest(&board, 0) && rest(&board, 1))
            #expect(board.push(1, to: .shared, lane: 1).wake == 1)
            let heir =
                switch leaves {
                case 0: board.leave(1)
                case 1: board.retire(1)
                default: board.end(1).wake
                }
            #expect(heir == 0)
        }
    }

    @Test func `a member told to stop finishes its own work and leaves the shared to others`() {
        var board = PoolBoard<Int>(memberCount: 2)
        _ = board.push(1, to: .shared, lane: 1)
        _ = board.push(2, to: .own(member: 0), lane: 1)
        _ = board.retire(0)
        #expect(board.isClosed(.own(member: 0)))
        #expect(!board.isClosed(.shared))
        let taken = [board.next(for: 0), board.next(for: 0)]
        #expect(taken == [2, nil])
        #expect(!board.hasWork(for: 0))
        _ = board.retire(1)
        #expect(board.isClosed(.shared))
        #expect(board.hasWork(for: 0) && board.hasWork(for: 1))
    }

    @Test func `what will never run comes back with the last member that could`() {
        var board = PoolBoard<Int>(memberCount: 2)
        _ = board.push(1, to: .shared, lane: 2)
        _ = board.push(2, to: .own(member: 0), lane: 1)
        _ = board.push(3, to: .own(member: 1), lane: 1)
        let first = board.end(0).left
        #expect(first == [2])
        #expect(board.waitingCount == 2)
        let last = board.end(1).left
        #expect(last == [3, 1])
        #expect(board.waitingCount == 0)
        #expect(board.isClosed(.shared))
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `any sequence of calls agrees with the model`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<25 {
            let memberCount = Int.random(in: 1...4, using: &random)
            var game = BoardGame(memberCount: memberCount)
            for _ in 0..<120 {
                if let fault = game.play(&random) {
                    Issue.record("seed \(seed): \(fault)")
                    return
                }
            }
        }
    }

    private func rest(_ board: inout PoolBoard<Int>, _ member: Int) -> Bool {
        board.next(for: member) == nil
    }
}
