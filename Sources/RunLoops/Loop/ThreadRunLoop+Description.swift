// The whole loop as text, for logs and debuggers.

internal import Kernel
internal import Structures

extension ThreadRunLoop: CustomStringConvertible {
    /// The loop's identity; `describe()` tells all.
    public var description: String {
        "ThreadRunLoop(\(ObjectIdentifier(self).hashValue))"
    }

    /// The whole loop: counters, the runs under way, and each mode with what is in it.
    ///
    /// - Returns: several lines, without a last line break.
    /// - Thread: the loop's own thread.
    public func describe() -> String {
        preconditionOnLoop()
        let counters = counters
        var lines = [
            "run loop: \(counters.passCount) passes, \(counters.sleepCount) sleeps, "
                + "\(counters.wakeUpCount) wake-ups, "
                + "\(counters.sourceCount) sources, \(counters.portCount) ports, "
                + "\(counters.timerCount) timers, \(counters.blockCount) blocks",
            "  running: \(runningModes.isEmpty ? "no" : list(runningModes))"
                + " · common modes: \(list(commonModes.sorted { $0.name < $1.name }))"
                + " · blocks waiting: \(pendingBlocks.count)",
        ]
        lines += measurements.map(describe) ?? []
        for state in modes.sorted(by: { $0.mode.name < $1.mode.name }) where isInUse(state) {
            lines += describe(state)
        }
        return lines.joined(separator: "\n")
    }

    /// Whether a mode is there for a reason; the default one always is there.
    private func isInUse(_ state: ModeState) -> Bool {
        state !== defaultState || state.wasRun || !state.isEmpty || !state.observers.isEmpty
    }

    private func describe(_ measurements: Measurements) -> [String] {
        var lines = [
            "  measured: \(isMeasured ? "yes" : "no longer") · asleep \(measurements.asleep)"
                + " · busy \(measurements.busy)"
        ]
        if let longest = measurements.longestCallout {
            let place = longest.postedFrom.map { ", posted from \($0)" } ?? ""
            lines.append("  longest callout: \(longest.duration) in \(longest.kind)\(place)")
        }
        let waits = measurements.submitToStart
        if waits.count > 0 {
            lines.append(
                "  submit to start: \(waits.count) times · p50 \(waits.percentile(50))"
                    + " · p99 \(waits.percentile(99)) · max \(waits.max)")
        }
        return lines
    }

    private func describe(_ state: ModeState) -> [String] {
        var lines = ["  mode \(state.mode)\(state.isEmpty ? ": empty" : "")"]
        for source in state.sources {
            lines.append(
                "    source order \(place(source.order))\(source.isSignalled ? ", signalled" : "")")
        }
        for port in state.signalledPorts {
            lines.append(
                "    port order \(place(port.order))\(port.isSignalled ? ", signalled" : "")")
        }
        let servesMainQueue = mainQueue?.isIn(state.mode, of: self) ?? false
        if servesMainQueue { lines.append("    the main dispatch queue") }
        let watched = (state.descriptors?.count ?? 0) - (servesMainQueue ? 1 : 0)
        if watched > 0 { lines.append("    \(watched) ports on descriptors") }
        if let next = state.timerHeap.firstFire {
            let due = Instant(nanoseconds: next)
            let wait = due == .distantFuture ? "never due" : "the next in \(now.duration(to: due))"
            lines.append("    \(state.timerCount) timers, \(wait)")
        }
        // Those that are told nothing only keep something with the loop.
        for observer in state.observers where !observer.activities.isEmpty {
            lines.append("    observer order \(place(observer.order)) of \(observer.activities)")
        }
        return lines
    }

    private func place(_ order: Int) -> String {
        switch order {
        case .min: "first"
        case .max: "last"
        default: "\(order)"
        }
    }

    private func list(_ modes: [Mode]) -> String {
        modes.map(\.name).joined(separator: ", ")
    }
}
