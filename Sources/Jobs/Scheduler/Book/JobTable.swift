// The way from a job's number to its place in the chain of the book.
//
// Numbers are given out one after another, and neighbours mostly come, end and are forgotten at
// about the same time. So they share a page: a dictionary of single numbers scatters them, and the
// look-up of a job that is forgotten after thousands of others waits for memory each time.

/// The slots of jobs in a chain, by the numbers of the jobs.
///
/// - Complexity: O(1) on average for everything.
package struct JobTable {
    /// The slots of neighbouring numbers.
    private struct Page {
        static let slotCount: UInt64 = 16
        private static let free = UInt32.max

        private var slots = InlineArray<16, UInt32>(repeating: free)
        private var count = 0

        var isEmpty: Bool { count == 0 }

        subscript(id: JobID) -> Int? {
            let slot = slots[place(of: id)]
            return slot == Self.free ? nil : Int(slot)
        }

        mutating func insert(_ slot: UInt32, for id: JobID) {
            slots[place(of: id)] = slot
            count += 1
        }

        mutating func remove(_ id: JobID) -> Int? {
            guard let slot = self[id] else { return nil }
            slots[place(of: id)] = Self.free
            count -= 1
            return slot
        }

        private func place(of id: JobID) -> Int {
            Int(truncatingIfNeeded: id.number % Self.slotCount)
        }
    }

    /// The pages by the first number of each.
    private var pages: [JobID: Page] = [:]
    package private(set) var count = 0

    package init() {}

    /// The slot of a job; nil for a number that is not in the table.
    package subscript(id: JobID) -> Int? { pages[first(of: id)]?[id] }

    /// Adds a number that is not in the table.
    package mutating func insert(_ slot: Int, for id: JobID) {
        pages[first(of: id), default: Page()].insert(UInt32(slot), for: id)
        count += 1
    }

    /// Takes a number out.
    ///
    /// - Returns: its slot; nil if it is not in the table.
    package mutating func remove(_ id: JobID) -> Int? {
        guard let index = pages.index(forKey: first(of: id)),
            let slot = pages.values[index].remove(id)
        else { return nil }
        if pages.values[index].isEmpty { pages.remove(at: index) }
        count -= 1
        return slot
    }

    private func first(of id: JobID) -> JobID { JobID(id.number & ~(Page.slotCount - 1)) }
}
