// A session of psql that stays open between statements: it holds locks and open transactions.

import Kernel
import Support

/// A session with a database, beside that of a store.
///
/// It ends with this object.
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

    /// Runs statements.
    ///
    /// - Returns: the rows, unaligned.
    @discardableResult
    package func run(_ sql: String) throws -> String {
        let mark = Array("done\n".utf8)
        try input.write(everything: Array("\(sql);\n\\echo done\n".utf8))
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
