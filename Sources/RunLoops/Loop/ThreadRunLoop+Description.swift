// The whole loop as text, for logs and debuggers.

internal import Kernel
internal import Structures

extension ThreadRunLoop: CustomStringConvertible {
    /// The whole loop, as `describe()` tells it; on other threads what they may know, its counters.
    ///
    /// - Thread: any thread.
    public var description: String {
        isOnThread ? describe() : "\(summary); its own thread tells what is in it"
    }

    /// The whole loop: counters, the runs under way, and each mode with its items, where each was
    /// made and when it is due.
    ///
    /// Of very many of a kind it tells of the first, and how many more there are.
    ///
    /// - Returns: several lines, without a last line break.
    /// - Thread: the loop's own thread.
    public func describe() -> String {
        preconditionOnLoop()
        var lines = [
            summary,
            "  running: \(runningModes.isEmpty ? "no" : list(runningModes))"
                + " · common modes: \(list(commonModes.sorted { $0.name < $1.name }))"
                + " · blocks waiting: \(pendingBlocks.count + dueBlocks.count)",
        ]
        lines += measurements.map(describe) ?? []
        for state in modes.sorted(by: { $0.mode.name < $1.mode.name }) where isInUse(state) {
            lines += describe(state)
        }
        return lines.joined(separator: "\n")
    }

    private var summary: String {
        let counters = counters
        return "run loop: \(counters.passCount) passes, \(counters.sleepCount) sleeps, "
            + "\(counters.wakeUpCount) wake-ups, "
            + "\(counters.sourceCount) sources, \(counters.portCount) ports, "
            + "\(counters.timerCount) timers, \(counters.blockCount) blocks"
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
        ["  mode \(state.mode)\(state.isEmpty ? ": empty" : "")"]
            + lines(of: state.sources) { source in
                "source order \(place(source.order))\(source.isSignalled ? ", signalled" : "")"
                    + ", made at \(source.madeAt)"
            }
            + lines(of: state.signalledPorts, describe)
            + lines(of: state.descriptors?.all ?? [], describe)
            + describeTimers(of: state)
            // Observers of no activity only keep something with the loop.
            + lines(of: state.observers.filter { !$0.activities.isEmpty }) { observer in
                "observer order \(place(observer.order)) of \(observer.activities)"
                    + ", made at \(observer.madeAt)"
            }
    }

    private func describe(_ port: Port) -> String {
        if mainQueue?.isServed(by: port) == true { return "the main dispatch queue" }
        let event =
            if let descriptor = port.watchedDescriptor {
                " on descriptor \(descriptor) for \(port.interest)"
            } else {
                port.isSignalled ? ", signalled" : ""
            }
        return "port order \(place(port.order))\(event), made at \(port.madeAt)"
    }

    private func describeTimers(of state: ModeState) -> [String] {
        guard let next = state.timerHeap.firstFire else { return [] }
        let first = state.timerHeap.first(Self.describedCountMax)
        var lines = ["    \(state.timerCount) timers, \(wait(until: next, before: "the next "))"]
        for (handle, fire) in first {
            guard let waiting = state.timerHeap.payload(of: handle) else { continue }
            lines.append("      \(wait(until: fire))\(describe(waiting))")
        }
        let leftCount = state.timerHeap.count - first.count
        return leftCount > 0 ? lines + ["      and \(leftCount) more"] : lines
    }

    private func wait(until nanoseconds: Int64, before word: String = "") -> String {
        let due = Instant(nanoseconds: nanoseconds)
        return due == .distantFuture ? "never due" : "\(word)in \(now.duration(to: due))"
    }

    private func describe(_ waiting: Waiting) -> String {
        guard let timer = waiting.timer else { return ", a time-out" }
        return (timer.interval.map { ", every \($0)" } ?? ", once")
            + (timer.tolerance > .zero ? ", or up to \(timer.tolerance) later" : "")
    }

    /// The most items of one kind in one mode of which each has a line of its own.
    private static let describedCountMax = 16

    /// A line for each of the first items, and one that says how many more there are.
    private func lines<Described>(
        of items: some Collection<Described>, _ describe: (Described) -> String
    ) -> [String] {
        let lines = items.prefix(Self.describedCountMax).map { "    \(describe($0))" }
        let leftCount = items.count - lines.count
        return leftCount > 0 ? lines + ["    and \(leftCount) more"] : lines
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
