// Proves that handles of a slot map go stale and never name another value.

import Structures
import Support
import Testing

@Suite struct `A slot map` {
    @Test func `gives each value back once`() {
        var map = SlotMap<String>()
        let handle = map.insert("a")
        #expect(map[handle] == "a")
        #expect(map.remove(handle) == "a")
        #expect(map[handle] == nil)
        #expect(map.remove(handle) == nil)
        #expect(map.isEmpty)
    }

    @Test func `refuses an old handle to a slot that has a new value`() {
        var map = SlotMap<String>()
        let old = map.insert("old")
        _ = map.remove(old)
        let new = map.insert("new")
        #expect(old != new)
        #expect(map[old] == nil)
        #expect(map.remove(old) == nil)
        #expect(map[new] == "new")
    }

    @Test func `retires a slot after its last generation, and not before`() {
        var map = SlotMap<Int>(generationMax: 2)
        var handles: Set<SlotMap<Int>.Handle> = []
        for value in 0..<7 {
            let handle = map.insert(value)
            #expect(handles.insert(handle).inserted, "a handle was given out twice")
            _ = map.remove(handle)
        }
        #expect(map.slotCount == 4, "two generations to a slot")
        #expect(handles.allSatisfy { map[$0] == nil })
    }

    @Test func `finds a note beside a value, and none where a slot is free or retired`() {
        var map = SlotMap<Int>(generationMax: 2)
        let handles = (0..<3).map { map.insert($0, note: UInt32($0)) }
        let indexes = handles.map { UInt32(truncatingIfNeeded: $0.rawValue) }
        #expect(indexes.map { map.count(notedAs: $0, at: $0) } == [1, 1, 1])
        for handle in handles { _ = map.remove(handle) }
        for note in 0..<3 as Range<UInt32> {
            #expect(indexes.map { map.count(notedAs: note, at: $0) } == [0, 0, 0])
        }
        let last = map.insert(3, note: 7)
        let index = UInt32(truncatingIfNeeded: last.rawValue)
        #expect(map.count(notedAs: 7, at: index) == 1)
        #expect(map.remove(last) == 3)
        #expect(map.count(notedAs: 7, at: index) == 0)
    }

    @Test func `lists what is in it`() {
        var map = SlotMap<Int>()
        let handles = (0..<5).map { map.insert($0) }
        _ = map.remove(handles[1])
        _ = map.remove(handles[3])
        #expect(map.map(\.value) == [0, 2, 4])
        #expect(map.map(\.handle) == [handles[0], handles[2], handles[4]])
    }

    @Test func `changes a value in place, or says that it is gone`() {
        var map = SlotMap<[Int]>()
        let handle = map.insert([1])
        map.update(handle) { $0.append(2) }
        #expect(map[handle] == [1, 2])
        _ = map.remove(handle)
        #expect(map.update(handle) { $0.append(3) } == nil)
        #expect(map[handle] == nil)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `agrees with a dictionary`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var map = SlotMap<Int>()
        var model: [SlotMap<Int>.Handle: Int] = [:]
        var removed: [SlotMap<Int>.Handle] = []
        for step in 0..<5_000 {
            if random.chance(55) {
                model[map.insert(step)] = step
            } else if let handle = model.keys.randomElement(using: &random) {
                #expect(map.remove(handle) == model.removeValue(forKey: handle))
                removed.append(handle)
            }
            #expect(map.count == model.count)
        }
        #expect(model.allSatisfy { map[$0.key] == $0.value })
        #expect(removed.allSatisfy { map[$0] == nil })
        #expect(map.map(\.value).sorted() == model.values.sorted())
    }
}
