// How long guesses of a password wait, in the time that the test says it is.

import Kernel
import Testing
import WorkerDaemon

@Suite struct `The book of guesses` {
    private let start = SystemClock().now()

    private func guess(_ book: inout GuessBook, _ address: String, at time: Instant) {
        _ = book.takeTurn(of: address, now: time)
        book.guessedWrong(address, now: time)
    }

    @Test func `each wrong guess of an address makes its next one wait longer`() {
        var book = GuessBook()
        var time = start
        var waits: [Duration] = []
        for _ in 0..<8 {
            guard case .later(let turn) = book.takeTurn(of: "a", now: time) else {
                guess(&book, "a", at: time)
                continue
            }
            waits.append(time.duration(to: turn))
            time = turn
            book.guessedWrong("a", now: time)
        }
        #expect(waits.count == 7)
        #expect(waits == waits.sorted())
        #expect(waits.first == .milliseconds(50))
        #expect(waits.last == .seconds(2))
        #expect(book.takeTurn(of: "b", now: time) == .now)
    }

    @Test func `guesses at the same time get one turn after another, and not too many`() {
        var book = GuessBook()
        for _ in 0..<20 { book.guessedWrong("a", now: start) }
        var turns: [Instant] = []
        while case .later(let turn) = book.takeTurn(of: "a", now: start) { turns.append(turn) }
        #expect(turns.count == 5)
        #expect(turns == turns.sorted())
        #expect(Set(turns.map { start.duration(to: $0) }).count == turns.count)
    }

    @Test func `an address is forgotten a minute after its last wrong guess`() {
        var book = GuessBook()
        book.guessedWrong("a", now: start)
        let later = start.advanced(by: .seconds(60))
        #expect(book.takeTurn(of: "a", now: later) == .now)
        // The next wrong guess is its first.
        book.guessedWrong("a", now: later)
        let turn = later.advanced(by: .milliseconds(50))
        #expect(book.takeTurn(of: "a", now: later) == .later(turn))
    }

    @Test func `the book is bounded, and addresses beyond share a place`() {
        var book = GuessBook()
        for index in 0..<10 * GuessBook.addressCountMax {
            book.guessedWrong("\(index)", now: start)
        }
        // The last address with a place of its own has guessed once: it waits for the least time.
        let turn = start.advanced(by: .milliseconds(50))
        #expect(
            book.takeTurn(of: "\(GuessBook.addressCountMax - 1)", now: start) == .later(turn))
        // All others are looked at one after another, each after the longest time.
        let shared = ["\(GuessBook.addressCountMax)", "another"]
        let turns = shared.map { book.takeTurn(of: $0, now: start) }
        #expect(turns == [2, 4].map { .later(start.advanced(by: .seconds($0))) })
    }
}
