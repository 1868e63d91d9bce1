// There are no transactions. But clients hand in MULTI, commands and EXEC in one piece, redis-py's pipelines
// unless told otherwise: what they see as one failed transaction must not have handed in jobs.

internal import RESP

enum TransactionCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "multi", 1...1, .connection,
            "There are no transactions: nothing is executed until EXEC or DISCARD.",
            execute: { _, session, _ throws(WireError) in
                session.beginTransaction()
                throw WireError(
                    .err,
                    "there are no transactions: nothing up to EXEC or DISCARD is executed; send a "
                        + "pipeline without MULTI (redis-py: pipeline(transaction=False))")
            }),
        CommandSpecification(
            "exec", 1...1, .connection, "Ends what MULTI began, of which nothing was executed.",
            permission: .inTransaction,
            execute: { _, session, _ throws(WireError) in
                try end("EXEC", of: session)
                throw WireError(
                    .execAbort, "there are no transactions: nothing behind MULTI was executed")
            }),
        CommandSpecification(
            "discard", 1...1, .connection, "Ends what MULTI began, of which nothing was executed.",
            permission: .inTransaction,
            execute: { _, session, _ throws(WireError) in
                try end("DISCARD", of: session)
                return .simpleString("OK")
            }),
    ]

    private static func end(_ name: String, of session: Session) throws(WireError) {
        guard session.endTransaction() else { throw WireError(.err, "\(name) without MULTI") }
    }

    /// What each command behind MULTI is answered.
    static let notExecuted = WireError(
        .err,
        "not executed: it stands behind MULTI, and there are no transactions; DISCARD goes on")
}
