// The state of `workerctl top`: the latest state of the daemon, rates, the lane of each thread, and
// what its user has chosen.

internal import Kernel
internal import WorkerClient

/// A second of a thread, as a letter of its lane.
enum LaneMark: Character {
    case idle = "."
    case running = "#"
    case failed = "x"
    case held = "="
    case stuck = "!"
    case unknown = " "
}

/// The state of `workerctl top`.
struct TopModel {
    /// Seconds over which rates are taken.
    private static let rateSpanCount = 5
    /// As many marks as the widest terminal shows.
    private static let markCountMax = 500

    /// The latest state of the daemon, and when it was told.
    private(set) var latest: (view: LiveView, time: Instant)?
    /// The states at the ends of the latest seconds.
    private var recent: [(view: LiveView, time: Instant)] = []
    private(set) var lanes: [String: [LaneMark]] = [:]
    /// Since when and why there is no connection; nil while there is one.
    private(set) var loss: (since: Instant, reason: String)?
    var filter = ""
    /// Whether keys go to the filter.
    var isFiltering = false
    /// The thread of the cursor; nil for the first one.
    var selected: String?
    /// The outcome of the last action.
    var message = ""

    /// Takes a new state.
    mutating func take(_ view: LiveView, at time: Instant) {
        loss = nil
        // A daemon that was started anew counts from 0.
        if view.epoch != latest?.view.epoch { recent = [] }
        latest = (view, time)
    }

    /// Ends a second: the lanes get another mark.
    mutating func tick(at time: Instant) {
        guard loss == nil, let view = latest?.view else {
            for name in lanes.keys { note(.unknown, of: name) }
            return
        }
        let before = Dictionary(
            (recent.last?.view.threads ?? []).map { ($0.name, $0.failedCount) },
            uniquingKeysWith: max)
        for thread in view.threads {
            let hasFailed = thread.failedCount > before[thread.name] ?? thread.failedCount
            note(Self.mark(thread.state, hasFailed: hasFailed), of: thread.name)
        }
        recent.append((view, time))
        if recent.count > Self.rateSpanCount + 1 { recent.removeFirst() }
        let names = Set(view.threads.map(\.name))
        lanes = lanes.filter { name, _ in names.contains(name) }
    }

    /// Notes that there is no connection.
    mutating func lose(_ reason: String, at time: Instant) {
        loss = (loss?.since ?? time, reason)
        recent = []
    }

    /// The daemon's time in Unix milliseconds; 0 before it has told any.
    func serverTime(at now: Instant) -> Int64 {
        guard let latest else { return 0 }
        return latest.view.time + latest.time.duration(to: now).nanosecondsClamped / 1_000_000
    }

    private mutating func note(_ mark: LaneMark, of thread: String) {
        lanes[thread, default: []].append(mark)
        let excess = lanes[thread, default: []].count - Self.markCountMax
        if excess > 0 { lanes[thread]?.removeFirst(excess) }
    }

    private static func mark(_ state: String, hasFailed: Bool) -> LaneMark {
        if hasFailed { return .failed }
        switch state {
        case "running", "stopping", "pausing": return .running
        case "stuck": return .stuck
        case "paused", "held", "stopped", "orphaned": return .held
        default: return .idle
        }
    }

    /// How often something was counted in a second, lately; nil if that is not known yet.
    private func rate(_ count: (LiveView) -> Int?) -> Double? {
        guard let first = recent.first, let last = recent.last, first.time < last.time,
            let before = count(first.view), let after = count(last.view)
        else { return nil }
        let span = first.time.duration(to: last.time)
        return Double(max(0, after - before)) * 1e9 / Double(span.nanosecondsClamped)
    }

    func rate(of count: String) -> Double? { rate { $0.counts[count] } }

    /// Done and failed attempts of a thread in a second.
    func rates(ofThread name: String) -> (done: Double?, failed: Double?) {
        (
            rate { view in view.threads.first { $0.name == name }?.doneCount },
            rate { view in view.threads.first { $0.name == name }?.failedCount }
        )
    }

    /// The threads that are shown: those whose name, state or selector contains the filter.
    var shownThreads: [LiveThread] {
        let word = filter.lowercased()
        return (latest?.view.threads ?? []).filter { thread in
            word.isEmpty
                || [thread.name, thread.state, thread.selector ?? ""].contains {
                    $0.lowercased().contains(word)
                }
        }
    }

    /// The place of the cursor among the threads that are shown.
    var cursor: Int {
        selected.flatMap { name in shownThreads.firstIndex { $0.name == name } } ?? 0
    }

    /// Moves the cursor.
    mutating func move(by distance: Int) {
        let threads = shownThreads
        guard !threads.isEmpty else { return }
        selected = threads[min(max(0, cursor + distance), threads.count - 1)].name
    }
}
