// A session of psql that stays open between statements: it holds locks and open transactions.

import Kernel
import Support

/// A session with a database, beside that of a store.
///
/// It ends with this object at the latest.
package final class SQLSession {
    private var child: ChildProcess
    private let input: Descriptor
    private let output: Descriptor

    /// Begins a session with the database of an address.
    package init(at address: String) throws {
        child = try ChildProcess.spawn(
            ChildCommand(
                program: "/usr/bin/psql",
                arguments: ["--no-psqlrc", "-qAt", "-v", "ON_ERROR_STOP=1", "-d", address]))
        guard let input = child.takeInput(), let output = child.takeOutput() else {
            throw Unexpected("the pipes of psql were taken")
        }
        self.input = input
        self.output = output
    }

    /// Begins a session whose open transaction sees the jobs of now: the server keeps their rows.
    package static func holdingSnapshot(at address: String) throws -> SQLSession {
        let session = try SQLSession(at: address)
        try session.run(
            "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM workerd.jobs")
        return session
    }

    /// Sends statements or commands of psql; their rows stay unread until `run` or `end`.
    package func send(_ text: String) throws {
        try input.write(everything: Array("\(text)\n".utf8))
    }

    /// Waits until everything is done; drops the rows.
    package func end() throws {
        try send("\\q")
        _ = try output.readEverything("its rows", atMost: 1 << 20)
        try waitUntilReady(child.endDescriptor.number)
        guard child.reap() == .exited(0) else { throw Unexpected("a session has failed") }
    }

    /// Runs statements.
    ///
    /// - Returns: the rows, unaligned.
    @discardableResult
    package func run(_ sql: String) throws -> String {
        let mark = Array("done\n".utf8)
        try send("\(sql);\n\\echo done")
        var bytes: [UInt8] = []
        while !bytes.suffix(mark.count).elementsEqual(mark) {
            try waitUntilReady(output.number)
            guard try output.readSome(appendingTo: &bytes, atMost: 4_096) else {
                throw Unexpected("psql has ended at \(sql)")
            }
        }
        return String(decoding: bytes.dropLast(mark.count), as: UTF8.self)
    }
}
