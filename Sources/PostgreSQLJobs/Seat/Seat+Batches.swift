// The numbers of a seat's transactions, in `workerd.batches`: a row for each, and older ones are
// deleted 64 at a time. The latest says whether a transaction was committed whose answer was lost.
//
// One row that each transaction updates is not enough. A long transaction of another program keeps
// vacuum from removing its old versions, and each update reads all of them. A row of its own for
// each number has one version.

internal import Jobs

extension Seat {
    private static let forgottenCount: Int64 = 64

    /// The expression for the number of the latest transaction of a row `seat` of the seats.
    ///
    /// A daemon of an earlier version keeps it in the row itself.
    static let latestBatch = """
        greatest(seat.batch,
            (SELECT max(noted.number) FROM workerd.batches noted WHERE noted.seat = seat.id))
        """

    /// Notes the number of a transaction, as its last statement but COMMIT, and forgets earlier
    /// ones.
    ///
    /// If the seat has another epoch, the new row lacks its seat, and the transaction fails. The
    /// row of the seat is not locked: another daemon raises the epoch only after this session has
    /// ended, and the server decides the last transaction of a session before it ends the session.
    ///
    /// - Parameters:
    ///   - value: an expression.
    ///   - send: sends a statement; the row of the last one has the value in its column 1.
    func noteBatch(
        _ batch: Int64, with value: String,
        _ send: (String, Parameters) throws(StoreFault) -> Void
    ) throws(StoreFault) {
        func parameters(_ last: Int64) -> Parameters {
            var parameters = Parameters()
            for value in [number, batch, last] { parameters.add(value) }
            return parameters
        }
        if batch.isMultiple(of: Self.forgottenCount) {
            // Of a range with a beginning: else it would look at all that were deleted before.
            try send(
                """
                DELETE FROM workerd.batches WHERE seat = $1::bigint::integer
                    AND number >= $3::bigint AND number < $2::bigint
                """, parameters(batch - Self.forgottenCount))
        }
        try send(
            """
            INSERT INTO workerd.batches (seat, number) VALUES (
                (SELECT id FROM workerd.seats
                    WHERE id = $1::bigint::integer AND epoch = $3::bigint), $2::bigint)
            RETURNING seat, \(value)
            """, parameters(epoch))
    }
}
