// A standby of a private database server, which a test promotes.

import Support

/// A server that follows another one over its socket.
///
/// - Thread: any.
package struct PostgreSQLStandby: Sendable {
    /// The name under which the primary knows it.
    package static let name = "standby"

    package let primary: PostgreSQLServer
    package let socketDirectory: String

    /// The address of a database on this server alone.
    package func address(of name: String) -> String {
        "postgresql://workerd@/\(name)?host=\(socketDirectory)"
    }

    /// The address of a database on both servers.
    package func sharedAddress(of name: String, isFirst: Bool = false) -> String {
        let both = [primary.socketDirectory, socketDirectory]
        let hosts = (isFirst ? both.reversed() : both).joined(separator: ",")
        return "postgresql://workerd@/\(name)?host=\(hosts)"
    }

    /// Runs statements with psql.
    @discardableResult
    package func run(_ sql: String, in database: String = "postgres") throws -> String {
        try PostgreSQLServer.run(sql, at: address(of: database))
    }

    /// Makes it a primary.
    package func promote() throws {
        guard try run("SELECT pg_promote()") == "t\n" else { throw Unexpected("no promotion") }
    }
}

extension PostgreSQLServer {
    /// Makes a standby, which follows this server.
    ///
    /// - Blocks: until it answers questions, about two seconds.
    package func standby() throws -> PostgreSQLStandby {
        try control("standby")
        return PostgreSQLStandby(primary: self, socketDirectory: standbySocketDirectory)
    }
}
