// pingpong
//
// Question: How fast do two loops pass something to and fro?
// Method:   Each of two loops posts to the other in its turn, 50,000 times there and back. In "with
//           a descriptor" the mode of ours has a pipe in it, so that it sleeps in epoll, as rivals
//           with a permanent descriptor do; its floor is two eventfds with epoll, the other's two
//           futexes. Every round is a process of its own; the goals are for one cpu.
// Units:    Microseconds and system calls for there and back.

internal import CMeasure
internal import Dispatch

extension Scenario {
    static let pingpong = Scenario(
        name: "pingpong",
        question: "How fast do two loops pass something to and fro?",
        note: "floor: two futexes, or with a descriptor two eventfds and epoll",
        metrics: [
            Metric(name: "round trip", unit: "µs"),
            Scenario.systemCalls,
        ],
        cases: Cases.ofLoops(bare, tripCount, quick: 100, PingPongMeasure())
            + [floor(bare, hasDescriptors: false)]
            + [
                Case(
                    group: watching, contender: Contender.ours, operations: tripCount,
                    quickOperations: 100
                ) { try PingPongMeasure()(WatchingLoop.self, $0, $1) }
            ]
            + Cases.ofLoops(watching, tripCount, quick: 100, PingPongMeasure())
            .filter {
                // These sleep without a descriptor, or have one already.
                ![Contender.ours, Contender.handmade, Contender.dispatch].contains($0.contender)
            } + [floor(watching, hasDescriptors: true)],
        tracedOperations: 500)

    private static let bare = "ping-pong"
    private static let watching = "ping-pong, with a descriptor"
    private static let tripCount = 50_000

    private static func floor(_ group: String, hasDescriptors: Bool) -> Case {
        Case(
            group: group, contender: Contender.floor, operations: tripCount, quickOperations: 100
        ) { count, _ in
            let duration = measure_pingpong(CInt(count), hasDescriptors ? 1 : 0)
            guard duration >= 0 else { throw WorkbenchError("no floor: errno \(-duration)") }
            var sample = Sample()
            sample.values["round trip"] = Double(duration) / Double(count) / 1_000
            sample.hash = UInt64(count)
            return sample
        }
    }
}

private struct PingPongMeasure: LoopMeasure {
    func callAsFunction<L: Loop>(
        _ type: L.Type, _ count: Int, _ conditions: Conditions
    ) throws -> Sample {
        let match = Match(try L(), try L())
        defer { match.stop() }
        if !conditions.isTraced { match.play(count / 10) }
        let start = nanoseconds()
        match.play(count)
        let duration = nanoseconds() - start
        var sample = Sample()
        sample.values["round trip"] = Double(duration) / Double(count) / 1_000
        sample.hash = UInt64(count)
        return sample
    }

    private final class Match<L: Loop>: @unchecked Sendable {
        // SAFETY: `remainingCount` is set before the first ball, and then touched by one loop's
        // thread only.
        private let first: L
        private let second: L
        private let done = DispatchSemaphore(value: 0)
        private var remainingCount = 0

        init(_ first: L, _ second: L) {
            self.first = first
            self.second = second
        }

        func play(_ count: Int) {
            guard count > 0 else { return }
            remainingCount = count
            second.post { self.serveSecond() }
            done.wait()
        }

        private func serveSecond() {
            first.post { self.serveFirst() }
        }

        private func serveFirst() {
            remainingCount -= 1
            if remainingCount == 0 {
                done.signal()
            } else {
                second.post { self.serveSecond() }
            }
        }

        func stop() {
            first.stop()
            second.stop()
        }
    }
}
