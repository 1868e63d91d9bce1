// Requests to a daemon whose store answers late: passes of the daemon's loop and transactions of
// the store alternate at random, so that each request may meet any answer in flight.

import Support

extension Simulation {
    /// Asks for several things, repeated `UNIQUE` submits among them, while the store answers late.
    ///
    /// - Parameter besideCrash: whether a crash is near: then nothing is buffered or fired, since
    ///   the book can't tell how many buffered jobs a crash has left.
    func askOfSlowStore(besideCrash: Bool) throws {
        // Not both: a job may be asked to end while the daemon is told of its end.
        let mayEnd = random.chance(50)
        // One firing at most, and nothing on its way that it may mean or not.
        let mayCollect = !besideCrash && random.chance(50)
        var mayFire = !besideCrash && mayEnd && !mayCollect
        // Of two at once, either may take back what both mean.
        var mayCancelAll = true
        note("slow store")
        try world.holdStore()
        for _ in 0..<(2 + random.below(10)) {
            switch random.below(20) {
            case ..<7: try submit()
            case ..<12: try submitAgain()
            case ..<15 where mayEnd: try endOne()
            case ..<14: try cancel()
            case ..<15 where mayCancelAll:
                mayCancelAll = false
                try cancelAll(of: Self.addresses.randomElement(using: &random) ?? "one")
            case ..<16 where mayCollect: try collect()
            case ..<17 where mayFire:
                mayFire = false
                try fire()
            default: break
            }
            for _ in 0..<random.below(3) {
                try world.servePassWithoutStore()
                try observe()
            }
            if random.chance(40) { try world.letStoreCatchUp() }
        }
        world.releaseStore()
    }
}
