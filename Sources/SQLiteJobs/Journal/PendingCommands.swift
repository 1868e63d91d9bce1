// What the journal has been told and has not done yet. Commands stay in the arrays in which they came:
// moving each of them into another would cost as much as what is done about it.

internal import Jobs

/// Commands in their order.
struct PendingCommands {
    /// One or more commands each.
    private(set) var batches: [[StoreCommand]] = []
    /// Whether one of them has an answer which says that it is on the disk.
    private(set) var areSynced = false
    /// Whether one of them changes what is on the disk.
    private(set) var areWrites = false

    init() {}

    /// Those of others that have happened already.
    init(recordsOf others: PendingCommands) {
        add(others.batches.flatMap { $0.filter { $0.isRecord } })
    }

    var isEmpty: Bool { batches.isEmpty }

    /// Adds commands behind those that are there.
    mutating func add(_ commands: [StoreCommand]) {
        guard !commands.isEmpty else { return }
        // By a span: a loop over the elements copies each.
        let span = commands.span
        for place in span.indices where !(areSynced && areWrites) {
            if span[place].isSynced { areSynced = true }
            if span[place].isWrite { areWrites = true }
        }
        batches.append(commands)
    }

    /// Does something about each of them, in their order.
    ///
    /// - Parameter body: told some of them and a place among them: handing over a command copies it.
    func forEach<Failure: Error>(
        _ body: (Span<StoreCommand>, Int) throws(Failure) -> Void
    ) throws(Failure) {
        for batch in batches {
            let span = batch.span
            for place in span.indices { try body(span, place) }
        }
    }
}
