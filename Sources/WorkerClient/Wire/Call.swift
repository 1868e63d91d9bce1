// A command together with what its reply means: what both clients have in common. Knows nothing of
// connections.

internal import RESP

/// A command, and how its reply is read.
struct Call<Value: Sendable>: Sendable {
    let arguments: [CommandArgument]
    /// How long the daemon is asked to delay the reply; nil if it answers at once.
    let wait: JobWait?
    /// Reads a reply that is no error.
    let read: @Sendable (RESPValue) throws(WorkerClientError) -> Value

    init(
        _ arguments: [CommandArgument], wait: JobWait? = nil,
        read: @escaping @Sendable (RESPValue) throws(WorkerClientError) -> Value
    ) {
        self.arguments = arguments
        self.wait = wait
        self.read = read
    }

    /// The value of a reply; throws the daemon's error if it is one.
    func value(of reply: RESPValue) throws(WorkerClientError) -> Value {
        if case .error = reply {
            throw .daemon(word: reply.errorWord ?? "ERR", message: reply.errorMessage ?? "")
        }
        return try read(reply)
    }

    /// The command as chunks to send: a large payload is a chunk of its own, not copied.
    var encoded: [[UInt8]] {
        var chunks: [[UInt8]] = []
        var small: [UInt8] = []
        CommandWriter.writeHeader(argumentCount: arguments.count, to: &small)
        for argument in arguments {
            switch argument {
            case .text(let text): CommandWriter.writeArgument(text, to: &small)
            case .integer(let value): CommandWriter.writeArgument(value, to: &small)
            case .bytes(let bytes) where bytes.count < Outbox.wholeByteCountMin:
                CommandWriter.writeArgument(bytes, to: &small)
            case .bytes(let bytes):
                CommandWriter.writeArgumentHeader(byteCount: bytes.count, to: &small)
                chunks.append(small)
                chunks.append(bytes)
                small = []
                CommandWriter.writeArgumentTrailer(to: &small)
            }
        }
        chunks.append(small)
        return chunks
    }
}

extension RESPValue {
    /// The type of an unexpected reply, for errors: never the bytes themselves.
    var kind: String {
        switch self {
        case .simpleString, .bulk, .verbatim: "a string"
        case .error: "an error"
        case .integer, .double, .bigNumber: "a number"
        case .boolean: "a boolean"
        case .null: "null"
        case .array, .set, .push: "a list"
        case .map: "a map"
        }
    }
}
