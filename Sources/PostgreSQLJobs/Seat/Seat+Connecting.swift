// The connecting of a seat: which of several hosts serves, and whether its server is the one from
// before or a newer one.

internal import Jobs
internal import Journals

extension Seat {
    /// Connects to the first host that serves, beginning with the latest one.
    ///
    /// - Throws: `away`, also for a connection that takes longer: the next call goes on with it.
    /// - Blocks: for the server; never for long once the seat was taken.
    func connect() throws(StoreFault) -> ServerConnection {
        var details: [String] = []
        for _ in 0..<hosts.count {
            do throws(StoreFault) {
                return try connectToPresent()
            } catch {
                guard error.kind == .away else { throw error }
                if !details.contains(error.detail) { details.append(error.detail) }
                guard connecting == nil else { break }
                hosts.advance()
            }
        }
        throw fault(.away, details.joined(separator: "; "))
    }

    /// Prepares a connection for the transactions of a daemon that has read the tables.
    ///
    /// If the server counts few rows, it plans to read the whole table, or an index of all delayed
    /// jobs and to sort them, and keeps that plan when the table has grown. From here on all rows
    /// are found by keys, in the order of an index.
    func prepare(_ connection: ServerConnection) throws(ServerError) {
        _ = try connection.rows("LISTEN \(ServerSchema.channel)")
        _ = try connection.rows(
            """
            SELECT set_config('enable_seqscan', 'off', false),
                set_config('enable_mergejoin', 'off', false),
                set_config('enable_sort', 'off', false)
            """)
    }

    private func connectToPresent() throws(StoreFault) -> ServerConnection {
        let connection = try establish()
        connection.patience = isTaken ? Self.stepPatience : nil
        let found = try ServerIdentity(of: connection, address)
        try check(found, on: connection)
        server = found
        return connection
    }

    private func establish() throws(StoreFault) -> ServerConnection {
        do throws(ServerError) {
            let attempt: ServerConnecting
            if let connecting { attempt = connecting } else { attempt = try hosts.connect() }
            connecting = nil
            let patience = isTaken ? Self.connectPatience : ServerConnecting.limit
            if let connection = try attempt.advance(for: patience) { return connection }
            connecting = attempt
        } catch {
            throw fault(.away, "can't connect: \(error)")
        }
        throw fault(.away, "can't connect: the server does not answer")
    }

    /// Compares a server with the one before.
    ///
    /// - Throws: `away` for an older one; `promoted` or `lost` for another one once the seat was
    ///   taken.
    private func check(
        _ found: ServerIdentity, on connection: ServerConnection
    ) throws(StoreFault) {
        let earlier = server?.timeline ?? known.read()
        switch earlier.map({ found.timeline.order(after: $0) }) {
        case .same: return
        case .older:
            throw fault(
                .away,
                "the server at \(hosts.present.shown) has the timeline "
                    + "\(found.timeline.number), and timeline \(earlier?.number ?? 0) was seen "
                    + "before: it is an old primary whose standby was promoted, and nothing is "
                    + "written to it (if it is the right one after all, remove \(known.path))")
        case .newer where isTaken:
            throw try promoted(on: connection, from: earlier, to: found.timeline)
        case .foreign where server != nil:
            throw lose("it is another database server than before")
        case .newer, .foreign, nil:
            if server != nil { entry.renumber() }
            known.write(found.timeline, log)
        }
    }
}
