// The commands that the journal has received and not handled yet. They stay in the arrays in which
// they came: moving each of them into another would cost as much as handling it.

internal import Jobs

/// Commands in their order.
struct PendingCommands {
    /// One or more commands each.
    private(set) var batches: [[StoreCommand]] = []
    /// Whether one of them has an answer that promises a sync.
    private(set) var areSynced = false
    /// Whether one of them changes the store.
    private(set) var areWrites = false

    init() {}

    /// The events among other commands, which have happened already.
    ///
    /// Pauses are merged: clients may send any number of them while nothing can be written.
    init(recordsOf others: PendingCommands) {
        var records: [StoreCommand] = []
        var pausePlace: Int?
        for command in others.batches.joined() where command.isRecord {
            if case .pause(let change) = command {
                if let place = pausePlace, case .pause(let before) = records[place],
                    let both = before.followed(by: change)
                {
                    records[place] = .pause(both)
                    continue
                }
                pausePlace = records.count
            }
            records.append(command)
        }
        add(records)
    }

    /// Commands, and others behind them.
    init(_ first: PendingCommands, _ second: PendingCommands) {
        add(first)
        add(second)
    }

    var isEmpty: Bool { batches.isEmpty }

    mutating func add(_ others: PendingCommands) { others.batches.forEach { add($0) } }

    // MARK: - Of a store whose transactions may be undecided

    /// So many jobs with unique names are accepted by one transaction: each takes a question to the
    /// server, and a lock of it if several daemons share the threads.
    static let namedCountMax = 500

    /// Whether they are one transaction.
    var areOnePart: Bool {
        areRefusable
            && batches.reduce(0) { $0 + $1.count(where: \.isNamed) } <= Self.namedCountMax
    }

    /// The commands in transactions that can be refused, and others that can't, in their order.
    var parts: [PendingCommands] {
        let all = batches.flatMap { $0 }
        var parts: [PendingCommands] = []
        var (start, namedCount) = (0, 0)
        for place in all.indices {
            let isFull = all[place].isNamed && namedCount == Self.namedCountMax
            if place > start, isFull || all[place].isLasting != all[place - 1].isLasting {
                parts.append(PendingCommands([all[start..<place]]))
                (start, namedCount) = (place, 0)
            }
            if all[place].isNamed { namedCount += 1 }
        }
        return parts + [PendingCommands([all[start...]])]
    }

    private init(_ slices: [ArraySlice<StoreCommand>]) {
        for slice in slices { add(Array(slice)) }
    }

    /// Whether its requests can be refused although it may be committed: then it changes nothing
    /// but events, and new jobs that can be dropped.
    var areRefusable: Bool { !batches.contains { $0.contains(where: \.isLasting) } }

    /// The jobs that it accepts.
    var newJobs: [NewJob] {
        batches.flatMap { commands in
            commands.flatMap { command -> [NewJob] in
                switch command {
                case .accept(let new), .acceptOnce(let new, _): [new]
                case .run(let runs): runs.map(\.new)
                default: []
                }
            }
        }
    }

    /// Adds commands at the end.
    mutating func add(_ commands: [StoreCommand]) {
        guard !commands.isEmpty else { return }
        for command in commands where !(areSynced && areWrites) {
            if command.isSynced { areSynced = true }
            if command.isWrite { areWrites = true }
        }
        batches.append(commands)
    }

    /// Calls `body` for each of them, in their order.
    ///
    /// - Parameter body: gets some of them and an index among them: passing a command would copy
    ///   it.
    func forEach<Failure: Error>(
        _ body: (Span<StoreCommand>, Int) throws(Failure) -> Void
    ) throws(Failure) {
        for batch in batches {
            let span = batch.span
            for place in span.indices { try body(span, place) }
        }
    }
}

extension StoreCommand {
    /// Whether it is a request that changes more than new rows.
    fileprivate var isLasting: Bool {
        switch self {
        case .settle, .fire, .cancel, .cancelPart, .keepSchedule, .dropSchedule, .keepDue: true
        case .claim, .move: true
        default: false
        }
    }

    /// Whether it accepts a job with a unique name.
    fileprivate var isNamed: Bool { if case .acceptOnce = self { true } else { false } }
}
