// There are no transactions, and clients that ask for one are told so by EXEC. The replies before
// it are those of Redis: some clients give up on a connection whose MULTI is refused, and never
// send DISCARD.

internal import RESP

enum TransactionCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "multi", 1...1, .connection, .anyUser,
            "Begins a transaction, which EXEC refuses: nothing of it is executed.",
            permission: .inTransaction,
            execute: { _, session, _ throws(WireError) in
                guard session.standing != .inTransaction else {
                    throw WireError(.err, "MULTI calls can not be nested")
                }
                session.beginTransaction()
                return .simpleString("OK")
            }),
        CommandSpecification(
            "exec", 1...1, .connection, .anyUser,
            "Ends a transaction. Answers that nothing was executed.",
            permission: .inTransaction,
            execute: { _, session, _ throws(WireError) in
                try end("EXEC", of: session)
                throw WireError(
                    .execAbort,
                    "there are no transactions: nothing behind MULTI was executed; send a pipeline "
                        + "without MULTI (redis-py: pipeline(transaction=False))")
            }),
        CommandSpecification(
            "discard", 1...1, .connection, .anyUser,
            "Ends a transaction, of which nothing was executed.",
            permission: .inTransaction,
            execute: { _, session, _ throws(WireError) in
                try end("DISCARD", of: session)
                return .simpleString("OK")
            }),
    ]

    private static func end(_ name: String, of session: Session) throws(WireError) {
        guard session.endTransaction() else { throw WireError(.err, "\(name) without MULTI") }
    }

    /// Answers each command of a transaction, of which nothing is kept.
    static let queued = CommandSpecification(
        "multi", 1...CommandTable.manyArguments, .connection, .anyUser, "",
        execute: { _, session, _ throws(WireError) in
            session.countQueued()
            return .simpleString("QUEUED")
        })
}
