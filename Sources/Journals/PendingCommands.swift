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
    init(recordsOf others: PendingCommands) {
        add(others.batches.flatMap { $0.filter { $0.isRecord } })
    }

    var isEmpty: Bool { batches.isEmpty }

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
