// What waits behind a job that is tried again, and when it may go on; names that are given once.

import Jobs
import Support
import Testing
import WorkerDaemon

@Suite struct `A hold-up` {
    @Test func `a closed gate lets through the one that closed it`() {
        let gate = OrderGate()
        #expect(!gate.isClosed(to: JobID(1)))
        gate.close(by: JobID(7))
        #expect(gate.isClosed(to: JobID(6)) && gate.isClosed(to: JobID(8)))
        #expect(!gate.isClosed(to: JobID(7)))
        #expect(gate.isClosed(by: JobID(7)) && !gate.isClosed(by: JobID(8)))
        gate.open()
        #expect(!gate.isClosed(to: JobID(8)) && !gate.isClosed(by: JobID(7)))
    }

    @Test func `lets go in the order of numbers, once all are back and the first has ended`() {
        let holdUp = HoldUp<Int>(OrderGate(), by: JobID(1))
        for number in [5, 3, 9] { holdUp.hold(number, JobID(UInt64(number))) }
        holdUp.expect(JobID(2))
        holdUp.expect(JobID(4))
        #expect(!holdUp.mayLetGo)
        holdUp.end()
        #expect(!holdUp.mayLetGo)
        holdUp.hold(2, JobID(2))
        // Was cancelled on its way: it comes back all the same, and is not held.
        holdUp.noteReturn(of: JobID(4))
        holdUp.forget(JobID(5))
        #expect(holdUp.mayLetGo)
        #expect(holdUp.takeAll() == [2, 3, 9])
        #expect(holdUp.count == 0)
    }

    /// Plays a worker that takes jobs from a lane, a desk that holds them up, and messages between
    /// them that are late.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `nothing overtakes, whenever messages come`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<50 {
            var play = LatePlay(failing: Int.random(in: 1...3, using: &random))
            while !play.isOver { play.step(&random) }
            #expect(play.begun == play.expected, "seed \(seed)")
        }
    }

    /// One worker, one order of 12 jobs, of which number 4 fails so often before it succeeds.
    private struct LatePlay {
        private enum Message { case failed, succeeded, heldBack(Int) }

        private var lane = Array(1...3) + [4] + Array(5...9)
        private var newcomers = Array(10...12)
        private var messages: [Message] = []
        private let gate = OrderGate()
        private var holdUp: HoldUp<Int>?
        private var failuresLeft: Int
        private var isBlockerHeld = false
        var begun: [Int] = []
        let expected: [Int]

        init(failing count: Int) {
            failuresLeft = count
            expected = Array(1...3) + Array(repeating: 4, count: count + 1) + Array(5...12)
        }

        var isOver: Bool {
            lane.isEmpty && newcomers.isEmpty && messages.isEmpty && holdUp == nil
        }

        mutating func step(_ random: inout SeededRandom) {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: work()
            case 1: hear()
            case 2: if isBlockerHeld, random.chance(50) { retry() }
            default:
                guard !newcomers.isEmpty else { return }
                let number = newcomers.removeFirst()
                if let holdUp { holdUp.hold(number, id(number)) } else { lane.append(number) }
            }
        }

        private func id(_ number: Int) -> JobID { JobID(UInt64(number)) }

        private mutating func work() {
            guard !lane.isEmpty else { return }
            let number = lane.removeFirst()
            if gate.isClosed(to: id(number)) { return messages.append(.heldBack(number)) }
            begun.append(number)
            guard number == 4 else { return }
            if failuresLeft > 0 {
                failuresLeft -= 1
                gate.close(by: id(4))
                messages.append(.failed)
            } else {
                messages.append(.succeeded)
            }
        }

        private mutating func hear() {
            guard !messages.isEmpty else { return }
            switch messages.removeFirst() {
            case .failed:
                isBlockerHeld = true
                guard holdUp == nil else { return }
                let holdUp = HoldUp<Int>(gate, by: id(4))
                self.holdUp = holdUp
                for number in lane { holdUp.hold(number, id(number)) }
                lane.removeAll()
                for case .heldBack(let number) in messages { holdUp.expect(id(number)) }
            case .succeeded:
                holdUp?.end()
                letGo()
            case .heldBack(let number):
                holdUp?.hold(number, id(number))
                letGo()
            }
        }

        private mutating func retry() {
            isBlockerHeld = false
            lane.append(4)
        }

        private mutating func letGo() {
            guard let holdUp, holdUp.mayLetGo else { return }
            self.holdUp = nil
            gate.open()
            lane += holdUp.takeAll()
        }
    }
}

@Suite struct `Names that are given once` {
    @Test func `lead to their job for a while, and as long as it has not ended`() {
        var names = UniqueNames(milliseconds: 100)
        names.give([1], to: JobID(7), at: 1_000)
        #expect(names.job(named: [1], at: 1_099) { _ in false } == JobID(7))
        #expect(names.job(named: [1], at: 1_100) { _ in false } == nil)
        #expect(names.job(named: [1], at: 9_999) { _ in true } == JobID(7))
        #expect(names.job(named: [2], at: 1_000) { _ in true } == nil)
    }

    @Test func `are forgotten oldest first when there are too many`() {
        var names = UniqueNames(countMax: 3, milliseconds: 100)
        names.give([0], to: JobID(1), at: 0)
        names.give([0], to: JobID(2), at: 200)
        for number in 1...2 { names.give([UInt8(number)], to: JobID(UInt64(number + 2)), at: 200) }
        #expect(names.count == 3)
        #expect(names.job(named: [0], at: 200) { _ in true } == JobID(2))
        names.give([3], to: JobID(9), at: 200)
        #expect(names.job(named: [0], at: 200) { _ in true } == nil)
    }
}
