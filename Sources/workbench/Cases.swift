// Who takes part: the contenders' names, and one case for each of them.

/// The contenders' names: the columns of the table.
enum Contender {
    static let ours = "ours"
    static let floor = "floor"
    static let handmade = "by hand"
    static let dispatch = "GCD"
    static let coreFoundation = "CFRunLoop"
    static let glib = "GLib"
    static let uv = "libuv"
    static let ev = "libev"

    static let columns = [ours, floor, handmade, dispatch, coreFoundation, glib, uv, ev]
}

/// Cases of one discipline, one for each loop; those of other libraries where they are compiled in.
enum Cases {
    /// For every loop of a closure's kind.
    static func ofLoops(
        _ group: String, _ operations: Int, quick: Int,
        slow: Int? = nil, _ measure: some LoopMeasure
    ) -> [Case] {
        func make<L: Loop>(_ contender: String, _ type: L.Type, _ operations: Int) -> Case {
            Case(group: group, contender: contender, operations: operations, quickOperations: quick)
            { count, conditions in try measure(type, count, conditions) }
        }
        var cases = [
            make(Contender.ours, WorkerLoop.self, operations),
            make(Contender.handmade, HandmadeLoop.self, operations),
            make(Contender.dispatch, DispatchLoop.self, operations),
            make(Contender.coreFoundation, CoreFoundationLoop.self, slow ?? operations),
        ]
        #if RIVALS
            cases += [
                make(Contender.glib, NativeLoop<GLib>.self, operations),
                make(Contender.uv, NativeLoop<UV>.self, operations),
                make(Contender.ev, NativeLoop<EV>.self, operations),
            ]
        #endif
        return cases
    }

    /// For every loop that has timers; `slow` for those whose work grows with what is pending.
    static func ofTimerLoops(
        _ group: String, _ operations: Int, quick: Int,
        coreFoundationObstacle: String? = nil, _ measure: some TimerMeasure
    ) -> [Case] {
        func make<L: TimerLoop>(
            _ contender: String, _ type: L.Type, obstacle: String? = nil
        ) -> Case {
            Case(
                group: group, contender: contender, operations: operations,
                quickOperations: quick, obstacle: { obstacle }
            ) { count, conditions in try measure(type, count, conditions) }
        }
        var cases = [
            make(Contender.ours, WorkerLoop.self),
            make(Contender.dispatch, DispatchLoop.self),
            make(
                Contender.coreFoundation, CoreFoundationLoop.self,
                obstacle: coreFoundationObstacle),
        ]
        #if RIVALS
            cases += [
                make(Contender.glib, NativeLoop<GLib>.self),
                make(Contender.uv, NativeLoop<UV>.self),
                make(Contender.ev, NativeLoop<EV>.self),
            ]
        #endif
        return cases
    }
}

/// How one loop is measured; a type, because closures can't be generic.
protocol LoopMeasure: Sendable {
    func callAsFunction<L: Loop>(
        _ type: L.Type, _ count: Int, _ conditions: Conditions
    ) throws -> Sample
}

/// How one loop's timers are measured.
protocol TimerMeasure: Sendable {
    func callAsFunction<L: TimerLoop>(
        _ type: L.Type, _ count: Int, _ conditions: Conditions
    ) throws -> Sample
}
