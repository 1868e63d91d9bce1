// The part of a queue that is in memory: every sequence of new jobs, loads and ends, compared with
// a plain model of the store, in which an answer may come at any time.

import Jobs
import StoreTwin
import Support
import Testing

@Suite struct `Window of a queue` {
    /// A store whose load is read when it is issued and answered some time later.
    private struct Model {
        var window: QueueWindow
        /// Numbers in memory, and parked, each in order.
        var memory: [Int] = []
        var parked: [Int] = []
        /// The jobs that a load in flight has read.
        var inFlight: (jobs: [Int], isEnd: Bool)?
        var nextNumber = 1

        mutating func accept() {
            let number = nextNumber
            nextNumber += 1
            if window.admit() {
                // Else a newer job would overtake.
                #expect(parked.isEmpty && inFlight == nil, "job \(number) passes parked ones")
                window.add(byteCount: 1)
                memory.append(number)
            } else {
                parked.append(number)
            }
        }

        mutating func issueLoad() {
            guard let load = window.nextLoad() else { return }
            #expect(inFlight == nil)
            let jobs = Array(parked.prefix(load.limit))
            inFlight = (jobs, jobs.count < load.limit)
        }

        mutating func answerLoad(fails: Bool) {
            guard let (jobs, isEnd) = inFlight else { return }
            inFlight = nil
            window.loadEnded(isEnd: !fails && isEnd)
            guard !fails else { return }
            // A job that was cancelled meanwhile is not parked, and was not read either: the read
            // is older.
            for number in jobs {
                window.add(byteCount: 1)
                memory.append(number)
            }
            parked.removeFirst(jobs.count)
        }

        /// The first job ends, or a parked one turns out to be none (a repeated `UNIQUE` submit).
        mutating func endOne(_ random: inout SeededRandom) {
            let loadedCount = inFlight?.jobs.count ?? 0
            if parked.count > loadedCount, random.chance(40) {
                parked.remove(at: loadedCount + random.below(parked.count - loadedCount))
            } else if !memory.isEmpty {
                memory.removeFirst()
                let wasThere = window.remove(byteCount: 1)
                #expect(wasThere)
            }
        }
    }

    @Test(arguments: UInt64(1)...50)
    func `keeps order and loses nothing with a load in flight`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let limits = WindowLimits(countMax: 2 + random.below(6))
        var model = Model(window: QueueWindow(limits, mayHaveEarlierJobs: random.chance(50)))
        for _ in 0..<2_000 {
            switch random.below(10) {
            case ..<4: model.accept()
            case ..<7: model.endOne(&random)
            case ..<9: model.answerLoad(fails: random.chance(10))
            default: break
            }
            if random.chance(80) { model.issueLoad() }
            #expect(model.memory == model.memory.sorted())
            #expect(model.window.inMemory.count == model.memory.count)
            if model.window.isWhole { #expect(model.parked.isEmpty) }
        }
        // Everything comes to its turn.
        while !model.window.isWhole {
            model.issueLoad()
            model.answerLoad(fails: false)
            while !model.memory.isEmpty { model.endOne(&random) }
        }
        #expect(model.parked.isEmpty)
    }

    @Test func `a count that would become negative is 0 and is told`() {
        var window = QueueWindow(WindowLimits(), mayHaveEarlierJobs: false)
        window.add(byteCount: 10)
        let wasThere = window.remove(byteCount: 10)
        let isThereAgain = window.remove(byteCount: 10)
        #expect(wasThere && !isThereAgain)
        #expect(window.inMemory == JobAmount())
    }
}
