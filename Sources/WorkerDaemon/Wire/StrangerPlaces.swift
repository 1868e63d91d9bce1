// The places of clients that have yet to give the password. Pure.

/// The holders of strangers' places.
struct StrangerPlaces {
    private var networks: [UInt64: String] = [:]
    private var counts: [String: Int] = [:]
    private var countMax = 0
    private var countMaxPerNetwork = 0

    /// A few places are needed however few there are in all.
    private static let countMin = 4

    /// Strangers get a quarter of all places, and one network half of these.
    ///
    /// - Parameter placeCount: how many connections there may be.
    init(placeCount: Int) { limit(placeCount: placeCount) }

    /// Changes the number of places; a taken place stays taken.
    mutating func limit(placeCount: Int) {
        countMax = max(1, min(max(Self.countMin, placeCount / 4), placeCount / 2))
        countMaxPerNetwork = max(Self.countMin, countMax / 2)
    }

    /// Why one more stranger may not come in from a network; nil if it may.
    func refusal(of network: String) -> String? {
        if networks.count >= countMax {
            return "max number of clients reached: \(networks.count) of them have yet to give "
                + "the password; try again in a moment"
        }
        if counts[network, default: 0] >= countMaxPerNetwork {
            return "max number of clients reached for this address: \(countMaxPerNetwork) of them "
                + "have yet to give the password; try again in a moment"
        }
        return nil
    }

    mutating func insert(_ number: UInt64, from network: String) {
        guard networks.updateValue(network, forKey: number) == nil else { return }
        counts[network, default: 0] += 1
    }

    mutating func remove(_ number: UInt64) {
        guard let network = networks.removeValue(forKey: number) else { return }
        counts[network, default: 0] -= 1
        if counts[network] == 0 { counts[network] = nil }
    }
}
