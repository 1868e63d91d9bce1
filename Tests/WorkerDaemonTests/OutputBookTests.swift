// Proves the book of outputs against a list, in random order: its outputs, its counts, and that its
// buffer stays as small as it says.

import Support
import Testing

@testable import WorkerDaemon

@Suite struct `A book of outputs` {
    /// An attempt that has ended, as the book has to know it.
    private struct Kept: Equatable {
        let job: UInt64
        let attempt: Int
        let output: [UInt8]
        let errors: [UInt8]

        var byteCount: Int { output.count + errors.count + OutputBook.attemptByteCount }
    }

    @Test(arguments: 1...8)
    func `keeps what a list keeps`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var limit = 20_000
        let book = OutputBook(byteCountMax: limit)
        var kept: [Kept] = []
        var running: [ProgramOutput] = []
        func keepLimit() {
            while kept.reduce(0, { $0 + $1.byteCount }) > limit { kept.removeFirst() }
        }
        for step in 1...4_000 {
            let job = UInt64.random(in: 1...40, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0...3: running.append(book.begin(job: job, attempt: step))
            case 4...6:
                guard let place = running.indices.randomElement(using: &random) else { continue }
                let ended = running.remove(at: place)
                let long = Int.random(in: 0..<20, using: &random) == 0 ? 3_000 : 8
                func some() -> [UInt8] {
                    (0..<Int.random(in: 0...long, using: &random)).map { _ in
                        UInt8.random(in: 0...255, using: &random)
                    }
                }
                let (output, errors) = (some(), some())
                ended.appendOutput(output[...])
                ended.appendErrors(errors[...])
                let isDone = Bool.random(using: &random)
                book.end(ended, isDone: isDone)
                let one = Kept(
                    job: ended.job, attempt: ended.attempt, output: isDone ? [] : output,
                    errors: errors)
                if one.byteCount > OutputBook.attemptByteCount { kept.append(one) }
                keepLimit()
            case 7, 8:
                book.forget(job)
                kept.removeAll { $0.job == job }
                running.removeAll { $0.job == job }
            default:
                guard step % 50 == 0 else { continue }
                limit = Int.random(in: 10_000...20_000, using: &random)
                book.limit(byteCount: limit)
                keepLimit()
            }
            let counted = kept.reduce(0) { $0 + $1.byteCount }
            #expect(book.byteCount == counted)
            #expect(book.bufferByteCount <= counted + counted / 4 + 64 << 10)
            let mine = kept.filter { $0.job == job }
            let own = running.filter { $0.job == job }
            let found = book.reading(of: job, attempt: 0)
            #expect(found?.attempts ?? [] == mine.map(\.attempt) + own.map(\.attempt))
            for one in mine {
                let found = book.reading(of: job, attempt: one.attempt)
                #expect(found?.reading.output.bytes == one.output)
                #expect(found?.reading.errors.bytes == one.errors)
            }
        }
    }

    @Test func `lays small outputs together, and gives room back`() {
        let book = OutputBook(byteCountMax: 1 << 20)
        for job in 1...100_000 as ClosedRange<UInt64> {
            let output = book.begin(job: job, attempt: 1)
            output.appendErrors([1, 2, 3, 4, 5])
            book.end(output, isDone: false)
        }
        #expect(book.byteCount == (1 << 20) / 261 * 261)
        #expect(book.bufferByteCount <= (1 << 20) / 261 * 5 + 64 << 10)
        for job in 1...100_000 as ClosedRange<UInt64> { book.forget(job) }
        #expect(book.byteCount == 0)
        #expect(book.reading(of: 100_000, attempt: 0) == nil)
    }
}
