// The state of a moving game's items, and the promises that were broken.

import RunLoops
import Support

/// The books of one game.
struct MovingBooks: Sendable {
    var items: [MovedItem] = []
    var timeouts: [MovedTimeout] = []
    var commonModes: [[ThreadRunLoop.Mode]]
    var faults: [String] = []

    init(loopCount: Int) {
        commonModes = Array(repeating: [.default], count: loopCount)
    }

    mutating func fault(_ text: String) { if faults.count < 8 { faults.append(text) } }

    /// A number among those that there are.
    func place(_ number: Int) -> Int? { items.isEmpty ? nil : number % items.count }

    /// Makes an item a loop's.
    ///
    /// - Returns: whether it may be added there.
    mutating func claim(_ item: Int, for loop: Int) -> Bool {
        guard !items[item].isLeaving, (items[item].owner ?? loop) == loop else { return false }
        give(item, to: loop)
        return true
    }

    mutating func give(_ item: Int, to loop: Int) {
        items[item].owner = loop
        if items[item].owners.last != loop { items[item].owners.append(loop) }
    }

    mutating func noteAdd(_ item: Int, to mode: ThreadRunLoop.Mode, of loop: Int) {
        guard !items[item].isInvalid else { return }
        if mode == .common { items[item].isCommon = true }
        for mode in mode == .common ? commonModes[loop] : [mode]
        where !items[item].modes.contains(mode) { items[item].modes.append(mode) }
    }

    mutating func noteRemove(_ item: Int, from mode: ThreadRunLoop.Mode, of loop: Int) {
        guard mode == .common else { return items[item].modes.removeAll { $0 == mode } }
        guard items[item].isCommon else { return }
        items[item].isCommon = false
        items[item].modes.removeAll { commonModes[loop].contains($0) }
    }

    mutating func noteCommon(_ mode: ThreadRunLoop.Mode, of loop: Int) {
        guard !commonModes[loop].contains(mode) else { return }
        commonModes[loop].append(mode)
        for item in items.indices where items[item].owner == loop && items[item].isCommon {
            noteAdd(item, to: mode, of: loop)
        }
    }

    /// Notes that a call begins, and says which moves it makes.
    mutating func begin(_ item: Int, on loop: Int?) -> [Move] {
        guard let loop else {
            fault("\(item) is called on no loop's thread")
            return []
        }
        let kind = items[item].kind
        if !items[item].owners.contains(loop) { fault("\(item) \(kind) is called on \(loop)") }
        if items[item].isDead { fault("\(item) \(kind) is called though it is invalid") }
        items[item].callCount += 1
        items[item].callDepth += 1
        if kind == .timer || kind == .onceObserver, items[item].callCount > 1 {
            fault("\(item) \(kind) is called again")
        }
        if kind == .observer, items[item].callDepth > 1 { fault("\(item) is told as it is told") }
        if items[item].isDeaf { fault("\(item) \(kind) is called though it listens to nothing") }
        return kind == .enteringSource || kind == .leavingSource ? [] : takeMoves(of: item)
    }

    /// The moves that an item has left to make; it makes them once.
    mutating func takeMoves(of item: Int) -> [Move] {
        defer { items[item].moves = [] }
        return items[item].moves
    }

    /// Whether a descriptor is ready of which the kernel is about to tell a loop: it sleeps until
    /// then.
    func isAnyReady(_ loops: [PlayedLoop]) -> Bool {
        items.contains { item in
            guard let bell = item.bell, !item.isDeaf, let owner = item.owner, !loops[owner].isOver
            else {
                return false
            }
            return item.item.isValid && item.item.modes.contains(loops[owner].mode)
                && isReady(bell.descriptor, within: 0)
        }
    }

    mutating func end(_ item: Int) { items[item].callDepth -= 1 }

    /// Notes that a source has entered a mode, or left one, and says which moves it makes.
    mutating func noteScheduled(
        _ item: Int, in mode: ThreadRunLoop.Mode, of loop: Int?, by step: Int
    ) -> [Move] {
        let key = "\(mode) of \(loop.map(String.init) ?? "?")"
        let count = items[item].scheduled[key, default: 0] + step
        if !(0...1).contains(count) { fault("\(item) scheduled \(count) times in \(key)") }
        items[item].scheduled[key] = count
        let kind: MovedItem.Kind = step > 0 ? .enteringSource : .leavingSource
        return items[item].kind == kind ? takeMoves(of: item) : []
    }
}
