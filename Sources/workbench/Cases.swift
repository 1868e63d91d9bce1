// The contenders: their names, and one case for each of them.

/// The contenders' names: the columns of the table.
enum Contender {
    static let ours = "ours"
    static let floor = "floor"
    static let counted = "counted"
    static let handmade = "by hand"
    static let dispatch = "GCD"
    static let coreFoundation = "CFRunLoop"
    static let glib = "GLib"
    static let uv = "libuv"
    static let ev = "libev"
    static let appended = "appended"
    static let leastServer = "least server"
    static let leastSQLiteServer = "least SQLite server"
    static let redis = "Redis"
    static let beanstalkd = "beanstalkd"
    static let beanstalkdOneWrite = "beanstalkd, 1 write"
    static let postgreSQL = "PostgreSQL"
    static let undisturbed = "no backup"

    static let columns = [
        ours, floor, counted, handmade, dispatch, coreFoundation, glib, uv, ev,
        appended, leastServer, leastSQLiteServer, redis, beanstalkd, beanstalkdOneWrite,
        postgreSQL, undisturbed,
    ]
}

/// Cases of one discipline, one for each loop; other libraries take part if they are compiled in.
enum Cases {
    /// A case for every loop that runs closures.
    static func ofLoops(
        _ group: String, _ operations: Int, quick: Int,
        slow: Int? = nil, _ measure: some LoopMeasure
    ) -> [Case] {
        let make = LoopCaseMaker(
            group: group, operations: operations, quickOperations: quick, measure: measure)
        var slower = make
        slower.operations = slow ?? operations
        return [
            make(Contender.ours, WorkerLoop.self),
            make(Contender.handmade, HandmadeLoop.self),
            make(Contender.dispatch, DispatchLoop.self),
            slower(Contender.coreFoundation, CoreFoundationLoop.self),
        ] + ofLibraries(make)
    }

    /// A case for every loop that has timers; `slow` for loops whose work grows with the pending
    /// timers.
    ///
    /// - Parameter ours: which of our two kinds takes part.
    static func ofTimerLoops<Ours: TimerLoop>(
        _ group: String, _ operations: Int, quick: Int, ours: Ours.Type,
        coreFoundationObstacle: String? = nil, _ measure: some TimerMeasure
    ) -> [Case] {
        let make = TimerCaseMaker(
            group: group, operations: operations, quickOperations: quick, measure: measure)
        var hindered = make
        hindered.obstacle = coreFoundationObstacle
        return [
            make(Contender.ours, ours),
            make(Contender.dispatch, DispatchLoop.self),
            hindered(Contender.coreFoundation, CoreFoundationLoop.self),
        ] + ofLibraries(make)
    }

    /// A case for our loop's timers that are objects.
    static func ofTimerObjects(
        _ group: String, _ operations: Int, quick: Int, _ measure: some TimerMeasure
    ) -> Case {
        TimerCaseMaker(
            group: group, operations: operations, quickOperations: quick, measure: measure
        )(Contender.ours, WorkerLoop.self)
    }

    /// Cases for the loops of C libraries: the only place that names them.
    static func ofLibraries(_ make: some LibraryCaseMaker) -> [Case] {
        #if RIVALS
            [
                make(Contender.glib, NativeLoop<GLib>.self),
                make(Contender.uv, NativeLoop<UV>.self),
                make(Contender.ev, NativeLoop<EV>.self),
            ]
        #else
            []
        #endif
    }
}

/// Makes a case for a loop with all abilities; a type, because closures can't be generic.
protocol LibraryCaseMaker {
    func callAsFunction<L: TimerLoop & CommandLoop>(_ contender: String, _ type: L.Type) -> Case
}

private struct LoopCaseMaker<Measure: LoopMeasure>: LibraryCaseMaker {
    let group: String
    var operations: Int
    let quickOperations: Int
    let measure: Measure

    func callAsFunction<L: Loop>(_ contender: String, _ type: L.Type) -> Case {
        Case(
            group: group, contender: contender, operations: operations,
            quickOperations: quickOperations
        ) { [measure] count, conditions in try measure(type, count, conditions) }
    }
}

private struct TimerCaseMaker<Measure: TimerMeasure>: LibraryCaseMaker {
    let group: String
    let operations: Int
    let quickOperations: Int
    var obstacle: String?
    let measure: Measure

    func callAsFunction<L: TimerLoop>(_ contender: String, _ type: L.Type) -> Case {
        Case(
            group: group, contender: contender, operations: operations,
            quickOperations: quickOperations, obstacle: { [obstacle] in obstacle }
        ) { [measure] count, conditions in try measure(type, count, conditions) }
    }
}

/// Measures one loop; a type, because closures can't be generic.
protocol LoopMeasure: Sendable {
    func callAsFunction<L: Loop>(
        _ type: L.Type, _ count: Int, _ conditions: Conditions
    ) throws -> Sample
}

/// Measures one loop's timers.
protocol TimerMeasure: Sendable {
    func callAsFunction<L: TimerLoop>(
        _ type: L.Type, _ count: Int, _ conditions: Conditions
    ) throws -> Sample
}
