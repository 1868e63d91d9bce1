// Items of the common modes. Confined to the loop's thread.

/// Items in the sequence in which they were added, each once.
///
/// - Complexity: O(1) to add, to remove and to find, so that a million timers in the common modes
///   are as cheap as one.
struct CommonItems {
    private var places: [ObjectIdentifier: UInt64] = [:]
    private var items: [UInt64: ThreadRunLoop.Item] = [:]
    private var lastPlace: UInt64 = 0

    func contains(_ item: ThreadRunLoop.Item) -> Bool { places[ObjectIdentifier(item)] != nil }

    /// Adds an item behind the others, unless it is there already.
    mutating func append(_ item: ThreadRunLoop.Item) {
        guard !contains(item) else { return }
        lastPlace += 1
        places[ObjectIdentifier(item)] = lastPlace
        items[lastPlace] = item
    }

    /// Removes an item.
    ///
    /// - Returns: whether it was there.
    @discardableResult
    mutating func remove(_ item: ThreadRunLoop.Item) -> Bool {
        guard !places.isEmpty, let place = places.removeValue(forKey: ObjectIdentifier(item)) else {
            return false
        }
        items[place] = nil
        return true
    }

    mutating func removeAll() {
        self = CommonItems()
    }

    /// The items in the sequence in which they were added.
    var inSequence: [ThreadRunLoop.Item] { items.sorted { $0.key < $1.key }.map(\.value) }
}
