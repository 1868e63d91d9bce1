// Proves the order across lanes, and that a ticket takes back its own element or nothing.

import Structures
import Support
import Testing

@Suite struct `A queue with lanes` {
    typealias Queue = PriorityFIFO<String>

    @Test func `hands out the highest lane first, and each lane in order`() {
        var queue = Queue()
        _ = queue.push("low", lane: 2, sequence: 1)
        _ = queue.push("normal", lane: 1, sequence: 2)
        _ = queue.push("high", lane: 0, sequence: 3)
        _ = queue.push("high too", lane: 0, sequence: 4)
        #expect(queue.map(\.element) == ["high", "high too", "normal", "low"])
        #expect(queue.firstTicket?.lane == 0)
        #expect(queue.popFirst()?.element == "high")
        #expect(queue.popFirst()?.element == "high too")
        #expect(queue.popFirst()?.ticket.sequence == 2)
        #expect(queue.popFirst()?.element == "low")
        #expect(queue.popFirst() == nil)
        #expect(queue.firstTicket == nil)
    }

    @Test func `takes back one element, once`() {
        var queue = Queue()
        let first = queue.push("a", lane: 1, sequence: 1)
        let second = queue.push("b", lane: 1, sequence: 2)
        let third = queue.push("c", lane: 1, sequence: 3)
        #expect(queue.remove(second) == "b")
        #expect(queue.remove(second) == nil)
        #expect(queue.popFirst()?.ticket == first)
        #expect(queue.remove(first) == nil)
        #expect(queue.firstTicket == third)
        #expect(queue.count == 1)
    }

    @Test func `refuses the ticket of another queue that shares its numbers`() {
        var own = Queue()
        var shared = Queue()
        let ticket = shared.push("shared", lane: 1, sequence: 1)
        _ = own.push("own", lane: 1, sequence: 2)
        #expect(own.remove(ticket) == nil)
        #expect(shared.remove(ticket) == "shared")
        #expect(own.count == 1)
    }

    @Test func `can be compared with another queue that shares its numbers`() throws {
        var own = Queue()
        var shared = Queue()
        _ = own.push("second", lane: 1, sequence: 2)
        _ = shared.push("first", lane: 1, sequence: 1)
        #expect(try #require(shared.firstTicket) < #require(own.firstTicket))
        _ = own.push("urgent", lane: 0, sequence: 3)
        #expect(try #require(own.firstTicket) < #require(shared.firstTicket))
    }

    @Test func `takes back all that match, in the order of handing out`() {
        var queue = PriorityFIFO<Int>()
        for number in 0..<12 { _ = queue.push(number, lane: number % 3, sequence: UInt64(number)) }
        #expect(queue.removeAll { $0 % 2 == 0 } == [0, 6, 4, 10, 2, 8])
        #expect(queue.map(\.element) == [3, 9, 1, 7, 5, 11])
        #expect(queue.removeAll { _ in true }.count == 6)
        #expect(queue.isEmpty)
    }

    @Test(arguments: [-1, PriorityFIFO<Int>.laneCount])
    func `traps on a lane that does not exist`(lane: Int) async {
        await #expect(processExitsWith: .failure) { [lane] in
            var queue = PriorityFIFO<Int>()
            _ = queue.push(1, lane: lane, sequence: 1)
        }
    }

    @Test func `traps on a number that is not larger than the last of its lane`() async {
        await #expect(processExitsWith: .failure) {
            var queue = PriorityFIFO<Int>()
            _ = queue.push(1, lane: 1, sequence: 5)
            _ = queue.push(2, lane: 1, sequence: 5)
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `agrees with a sorted list`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = PriorityFIFO<Int>()
        var model: [(ticket: PriorityFIFO<Int>.Ticket, element: Int)] = []
        for step in 0..<4_000 {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<50:
                let lane = Int.random(in: 0..<3, using: &random)
                model.append((queue.push(step, lane: lane, sequence: UInt64(step)), step))
                model.sort { $0.ticket < $1.ticket }
            case 50..<75:
                let first = model.isEmpty ? nil : model.removeFirst()
                let popped = queue.popFirst()
                #expect(popped?.ticket == first?.ticket)
                #expect(popped?.element == first?.element)
            case 75..<99:
                guard let index = model.indices.randomElement(using: &random) else { continue }
                let victim = model.remove(at: index)
                #expect(queue.remove(victim.ticket) == victim.element)
                #expect(queue.remove(victim.ticket) == nil)
            default:
                let remainder = step % 5
                let removed = queue.removeAll { $0 % 5 == remainder }
                #expect(removed == model.map(\.element).filter { $0 % 5 == remainder })
                model.removeAll { $0.element % 5 == remainder }
            }
            #expect(queue.count == model.count)
            #expect(queue.firstTicket == model.first?.ticket)
            if step % 100 == 0 { #expect(queue.map(\.element) == model.map(\.element)) }
        }
        #expect(queue.map(\.ticket) == model.map(\.ticket))
    }
}
