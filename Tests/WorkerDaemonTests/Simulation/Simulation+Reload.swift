// Reloads of a simulated daemon: threads come, go and change, and no job is lost or overtaken.

import RESP
import Support

extension Simulation {
    /// Changes the threads, if no job runs there: a reload would wait for its end.
    func reload() throws {
        switch random.below(3) {
        case 0: try changeCount()
        case 1: try removeAndBringBack()
        default:
            let limit = 1_000 + random.below(1_000)
            note("reload: at most \(limit) waiting jobs")
            try reload(["one": 1, "two": poolCount], maxQueued: limit)
        }
    }

    /// - Parameter changed: the thread or pool whose running jobs the reload waits for.
    private func reload(
        _ threads: [String: Int], maxQueued: Int? = nil, changed: String? = nil
    ) throws {
        try world.reload(threads, maxQueued: maxQueued) {
            world.clock.advance(byMilliseconds: 1)
            book.advance(byMilliseconds: 1)
            // Jobs become due and begin while those from before a crash are counted.
            guard let changed else { return }
            try observe()
            try endAll { Self.isMember($0, of: changed) }
        }
    }

    private static func isMember(_ thread: String, of name: String) -> Bool {
        thread == name || thread.hasPrefix("\(name)/")
    }

    private func isBusy(_ name: String) -> Bool {
        world.stage.isPlaying(onOneOf: { Self.isMember($0, of: name) })
    }

    /// The pool has a third thread, which no job is addressed to, or loses it.
    private func changeCount() throws {
        guard !isBusy("two") else { return }
        poolCount = 5 - poolCount
        note("reload: two has \(poolCount) threads")
        try reload(["one": 1, "two": poolCount], changed: "two")
    }

    /// A thread goes and comes back.
    ///
    /// Not where jobs wait for their moment on it and the clock may be set: those that come back go
    /// by the clock on the wall.
    private func removeAndBringBack() throws {
        let isTimed = book.live.contains { entry in
            switch entry.state {
            case .delayed, .pausing: entry.address == "one"
            case .asked, .buffered, .waiting, .running, .ended, .gone: false
            }
        }
        guard !isBusy("one"), isCrowded || !isTimed else { return }
        note("reload: one goes and comes back")
        try reload(["two": poolCount], changed: "one")
        try observe()
        try book.lose("one")
        try world.ask(["PERFORM", "one", "play", "999999999"]) { reply in
            guard reply.errorWord == "NOTHREAD" else {
                throw SimulationFault("a thread that has gone was answered \(reply)")
            }
        }
        try settle()
        try reload(["one": 1, "two": poolCount])
    }
}
