// A client of workerd that asks one question after the other, for a scenario's needs beside its
// load.

internal import Glibc
internal import Kernel
internal import RESP

/// One blocking connection in RESP 2.
final class Asker {
    private let socket: Descriptor
    private var parser = ReplyParser()

    init(_ server: StoringServer) throws {
        socket = try server.address.connect(timeoutMilliseconds: 5_000)
    }

    /// Sends a command and reads its reply.
    ///
    /// - Throws: also if the reply is an error.
    @discardableResult
    func ask(_ words: String...) throws -> RESPValue {
        try send(words)
        return try next()
    }

    /// Sends a command; its reply comes later.
    func send(_ words: [String]) throws {
        var output: [UInt8] = []
        CommandWriter.write(words.map { .text($0) }, to: &output)
        try socket.write(everything: output)
    }

    /// Whether a reply, or a part of one, has come.
    func hasReply() throws -> Bool {
        var request = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
        let count = unsafe poll(&request, 1, 0)
        guard count >= 0 else { throw WorkbenchError("poll: errno \(errno)") }
        return count > 0
    }

    /// Waits for the next reply.
    func next() throws -> RESPValue {
        while true {
            if let reply = try parser.next() {
                if case .error = reply { throw WorkbenchError("workerd answered \(reply)") }
                return reply
            }
            try socket.read(into: &parser)
        }
    }

    /// A number in a section of INFO.
    func information(_ section: String, _ name: String) throws -> Int {
        let reply = try ask("INFO", section)
        for line in String(decoding: reply.bytes ?? [], as: UTF8.self).split(separator: "\r\n")
        where line.hasPrefix("\(name):") {
            if let number = Int(line.dropFirst(name.count + 1)) { return number }
        }
        throw WorkbenchError("INFO \(section) has no \(name)")
    }
}
