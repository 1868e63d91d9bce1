// Proves the order of timers, their handles, and the wake-up that tolerances let neighbours share.

import Structures
import Support
import Testing

@Suite struct `A timer heap` {
    typealias Heap = TimerHeap<Int>

    @Test func `has nothing to wake for when it is empty`() {
        var heap = Heap()
        var due: [Heap.Handle] = []
        heap.collectDue(upTo: .max, into: &due)
        #expect(heap.firstFire == nil)
        #expect(heap.deadline == nil)
        #expect(due.isEmpty)
    }

    @Test func `lists what is due by time and then by arrival, and keeps it`() {
        var heap = Heap()
        let times: [Int64] = [30, 10, 20, 10, 40, 10]
        for (payload, time) in times.enumerated() {
            _ = heap.insert(fire: time, latest: time, payload: payload)
        }
        #expect(payloads(of: heap, upTo: 9) == [])
        #expect(payloads(of: heap, upTo: 30) == [1, 3, 5, 2, 0])
        #expect(heap.count == 6)
    }

    @Test func `treats an update as a new arrival`() {
        var heap = Heap()
        let first = heap.insert(fire: 10, latest: 10, payload: 1)
        _ = heap.insert(fire: 10, latest: 10, payload: 2)
        #expect(heap.update(first, fire: 10, latest: 10) == true)
        #expect(payloads(of: heap, upTo: 10) == [2, 1])
    }

    @Test func `refuses the handle of a timer that is gone`() {
        var heap = Heap()
        let old = heap.insert(fire: 1, latest: 1, payload: 1)
        #expect(heap.remove(old) == 1)
        let new = heap.insert(fire: 2, latest: 2, payload: 2)
        #expect(heap.remove(old) == nil)
        #expect(heap.update(old, fire: 0, latest: 0) == false)
        #expect(heap.payload(of: old) == nil)
        #expect(heap.payload(of: new) == 2)
        #expect(heap.firstFire == 2)
    }

    @Test func `lets go of a payload at once when it is removed`() {
        final class Payload {}
        var heap = TimerHeap<Payload>()
        _ = heap.insert(fire: 1, latest: 1, payload: Payload())
        weak var last: Payload?
        let handle = {
            let payload = Payload()
            last = payload
            return heap.insert(fire: 2, latest: 2, payload: payload)
        }()
        #expect(last != nil)
        #expect(heap.remove(handle) != nil)
        #expect(last == nil)
        heap.checkInvariants()
    }

    @Test func `keeps few entries of timers that come and go behind one that stays`() {
        var heap = Heap()
        let first = heap.insert(fire: 0, latest: 0, payload: -1)
        let moving = heap.insert(fire: 1, latest: 1, payload: -2)
        for step in 1..<1_000 {
            let handle = heap.insert(fire: Int64(step), latest: Int64(step), payload: step)
            #expect(heap.update(moving, fire: Int64(2 * step), latest: Int64(2 * step)) == true)
            #expect(heap.remove(handle) == step)
            // Not more than three dead entries for each live one, and a few.
            heap.checkInvariants()
        }
        #expect(payloads(of: heap, upTo: .max) == [-1, -2])
        #expect(heap.remove(first) == -1)
        #expect(heap.firstFire == 1_998)
        #expect(heap.remove(moving) == -2)
        #expect(heap.firstFire == nil)
    }

    @Test func `does not take the older times of a timer for the newest`() {
        var heap = Heap()
        _ = heap.insert(fire: 0, latest: 0, payload: 0)
        let moved = heap.insert(fire: 5, latest: 6, payload: 1)
        #expect(heap.update(moved, fire: 20, latest: 25) == true)
        #expect(heap.update(moved, fire: 10, latest: 15) == true)
        #expect(payloads(of: heap, upTo: 9) == [0])
        #expect(payloads(of: heap, upTo: .max) == [0, 1])
        #expect(heap.remove(moved) == 1)
        let next = heap.insert(fire: 30, latest: 30, payload: 2)
        #expect(payloads(of: heap, upTo: 29) == [0])
        #expect(heap.payload(of: next) == 2)
    }

    @Test func `wakes once for neighbours whose tolerances overlap`() {
        var heap = Heap()
        _ = heap.insert(fire: 100, latest: 150, payload: 1)
        let second = heap.insert(fire: 120, latest: 130, payload: 2)
        _ = heap.insert(fire: 131, latest: 140, payload: 3)
        #expect(heap.deadline == 130)
        #expect(payloads(of: heap, upTo: 130) == [1, 2])
        #expect(heap.remove(second) == 2)
        #expect(heap.deadline == 140)
        #expect(payloads(of: heap, upTo: 140) == [1, 3])
    }

    @Test func `forgets a deadline when the timer that set it moves`() {
        var heap = Heap()
        let early = heap.insert(fire: 10, latest: 20, payload: 1)
        _ = heap.insert(fire: 15, latest: 40, payload: 2)
        #expect(heap.deadline == 20)
        #expect(heap.update(early, fire: 100, latest: 100) == true)
        #expect(heap.deadline == 40)
        #expect(heap.update(early, fire: 16, latest: 16) == true)
        #expect(heap.deadline == 16)
    }

    @Test func `holds the first and the last moment there is`() {
        var heap = Heap()
        _ = heap.insert(fire: .max, latest: .max, payload: 3)
        _ = heap.insert(fire: .min, latest: .min, payload: 1)
        _ = heap.insert(fire: -1, latest: 1, payload: 2)
        #expect(heap.firstFire == .min)
        #expect(heap.deadline == .min)
        #expect(payloads(of: heap, upTo: .max - 1) == [1, 2])
        #expect(payloads(of: heap, upTo: .max) == [1, 2, 3])
    }

    @Test func `keeps the order of equal times when it has run out of numbers`() {
        var heap = Heap(numberMax: 10)
        let moved = heap.insert(fire: 5, latest: 6, payload: 1)
        for payload in 2...4 {
            _ = heap.insert(fire: 5, latest: 5 + Int64(payload), payload: payload)
        }
        for _ in 0..<100 { #expect(heap.update(moved, fire: 5, latest: 6) == true) }
        heap.checkInvariants()
        #expect(payloads(of: heap, upTo: 5) == [2, 3, 4, 1])
        #expect(heap.deadline == 6)
        #expect(heap.remove(moved) == 1)
        #expect(heap.deadline == 7)
        #expect(payloads(of: heap, upTo: 5) == [2, 3, 4])
    }

    @Test func `traps on a timer that must fire before it may`() async {
        await #expect(processExitsWith: .failure) {
            var heap = TimerHeap<Int>()
            _ = heap.insert(fire: 2, latest: 1, payload: 0)
        }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64], [0, 5, 200] as [Int64])
    func `agrees with a sorted list`(seed: UInt64, toleranceMax: Int64) {
        var random = SeededRandom(seed: seed)
        // So few numbers that all timers are renumbered now and then.
        var heap = Heap(numberMax: 1_000)
        var model = Model()
        for step in 0..<3_000 {
            let fire = Int64.random(in: 0..<300, using: &random)
            let latest = fire + Int64.random(in: 0...toleranceMax, using: &random)
            let victim = model.timers.randomElement(using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let handle = heap.insert(fire: fire, latest: latest, payload: step)
                model.insert(handle, fire: fire, latest: latest, payload: step)
            case 5..<7:
                guard let victim else { continue }
                #expect(heap.update(victim.handle, fire: fire, latest: latest) == true)
                model.remove(victim.handle)
                model.insert(victim.handle, fire: fire, latest: latest, payload: victim.payload)
            default:
                guard let victim else { continue }
                #expect(heap.remove(victim.handle) == victim.payload)
                #expect(heap.remove(victim.handle) == nil)
                model.remove(victim.handle)
            }
            if random.chance(30) { #expect(heap.deadline == model.deadline, "step \(step)") }
            #expect(heap.firstFire == model.timers.map(\.fire).min(), "step \(step)")
            if step % 50 == 0 {
                heap.checkInvariants()
                #expect(heap.count == model.timers.count)
                #expect(payloads(of: heap, upTo: fire) == model.payloads(upTo: fire))
            }
        }
        heap.checkInvariants()
        #expect(heap.count == model.timers.count)
        #expect(payloads(of: heap, upTo: .max) == model.payloads(upTo: .max))
    }

    @Test func `wakes for a tolerance as it keeps it, be it ever so long`() {
        var heap = Heap()
        // Beyond a second a tolerance is kept in microseconds.
        let moved = heap.insert(fire: 10, latest: 1_234_567_891, payload: 1)
        #expect(heap.deadline == 1_234_567_010)
        #expect(heap.update(moved, fire: 20, latest: 5_000_000_999) == true)
        #expect(heap.deadline == 5_000_000_020)
        let late = heap.insert(fire: 30, latest: .max, payload: 2)
        #expect(heap.deadline == 5_000_000_020)
        #expect(heap.remove(moved) == 1)
        heap.checkInvariants()
        #expect(heap.remove(late) == 2)
        #expect(heap.deadline == nil)
    }

    @Test func `finds the only one that is due`() {
        var heap = Heap()
        #expect(heap.onlyDue(upTo: .max) == nil)
        let second = heap.insert(fire: 20, latest: 20, payload: 2)
        let first = heap.insert(fire: 10, latest: 10, payload: 1)
        #expect(heap.onlyDue(upTo: 9) == nil)
        #expect(heap.onlyDue(upTo: 19) == first)
        #expect(heap.onlyDue(upTo: 20) == nil)
        _ = heap.remove(first)
        #expect(heap.onlyDue(upTo: 20) == second)
    }

    @Test func `tells those that fire first, and passes over dead ones`() {
        var heap = Heap()
        let handles = (0..<40).map { heap.insert(fire: Int64(40 - $0), latest: 50, payload: $0) }
        #expect(heap.first(0).isEmpty)
        #expect(heap.first(5).map(\.handle) == Array(handles.suffix(5).reversed()))
        #expect(heap.first(5).map(\.fire) == [1, 2, 3, 4, 5])
        for handle in handles.suffix(5).dropLast() { _ = heap.remove(handle) }
        #expect(heap.first(3).map(\.fire) == [1, 6, 7])
        #expect(heap.first(100).count == 36)
        #expect(Heap().first(5).isEmpty)
    }

    private func payloads(of heap: Heap, upTo limit: Int64) -> [Int] {
        var due: [Heap.Handle] = []
        heap.collectDue(upTo: limit, into: &due)
        if let only = heap.onlyDue(upTo: limit) { #expect(due == [only]) }
        // As many of them as possible, in the same order, though dead entries may hide the last.
        let first = heap.first(3)
        #expect(zip(first, due).allSatisfy { $0.handle == $1 })
        #expect(heap.isEmpty || (1...min(3, heap.count)).contains(first.count))
        return due.compactMap { heap.payload(of: $0) }
    }

    /// The same promises, kept by sorting: a list in order of arrival.
    private struct Model {
        typealias Timer = (handle: Heap.Handle, fire: Int64, latest: Int64, payload: Int)
        var timers: [Timer] = []

        var deadline: Int64? { timers.map(\.latest).min() }

        mutating func insert(_ handle: Heap.Handle, fire: Int64, latest: Int64, payload: Int) {
            timers.append((handle, fire, latest, payload))
        }

        mutating func remove(_ handle: Heap.Handle) {
            timers.removeAll { $0.handle == handle }
        }

        func payloads(upTo limit: Int64) -> [Int] {
            let due = timers.enumerated().filter { $0.element.fire <= limit }
            let ordered = due.sorted {
                ($0.element.fire, $0.offset) < ($1.element.fire, $1.offset)
            }
            return ordered.map(\.element.payload)
        }
    }
}
