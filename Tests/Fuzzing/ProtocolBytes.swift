// Commands and replies of the Redis protocol.

internal import RESP
internal import Support

enum ProtocolBytes {
    private static let limits = CommandLimits(argumentByteCountMax: 1_000)
    /// Buffers may be larger than their bytes, but not without bound.
    private static let memoryByteCountMax = 1 << 20

    /// However commands are cut into reads, they are the same commands with the same end.
    static func readCommands(_ bytes: [UInt8]) {
        let (first, second) = cut(bytes)
        let whole = commands([bytes[...]])
        precondition(whole == commands([first, second]), "a cut changes the commands")
        precondition(whole == commands(bytes.map { [$0] }), "single bytes change the commands")
    }

    private static func commands(_ parts: [ArraySlice<UInt8>]) -> [String] {
        var parser = CommandParser(limits: limits)
        var found: [String] = []
        for part in parts {
            parser.append(part)
            do throws(ProtocolError) {
                while let request = try parser.next() { found.append(description(of: request)) }
            } catch {
                return found + ["\(error)"]
            }
            precondition(parser.memoryByteCount <= memoryByteCountMax, "the buffer grows")
        }
        return found + [parser.isInsideCommand ? "inside" : "between"]
    }

    private static func description(of request: Request) -> String {
        switch request {
        case .command(let command):
            "\((0..<command.count).map { command.bytes(at: $0) })"
        case .tooLarge(let argument): "\(argument)"
        }
    }

    /// However replies are cut into reads, they are the same; and a reply that is written, read and
    /// written again has the same bytes.
    static func readReplies(_ bytes: [UInt8]) {
        let (first, second) = cut(bytes)
        let (whole, end) = replies([bytes[...]])
        let (other, otherEnd) = replies([first, second])
        // As texts: no NaN equals itself.
        precondition("\(whole)" == "\(other)" && end == otherEnd, "a cut changes the replies")
        let writer = ReplyWriter(version: .three)
        for value in whole {
            var (written, again): ([UInt8], [UInt8]) = ([], [])
            writer.write(value, to: &written)
            let (read, end) = replies([written[...]])
            precondition(read.count == 1 && end == "between", "\(value) is read as \(read)")
            writer.write(read[0], to: &again)
            precondition(written == again, "\(value) is written in two ways")
        }
    }

    private static func replies(_ parts: [ArraySlice<UInt8>]) -> ([RESPValue], end: String) {
        var parser = ReplyParser()
        var found: [RESPValue] = []
        for part in parts {
            parser.append(part)
            do throws(ProtocolError) {
                while let value = try parser.next() { found.append(value) }
            } catch {
                return (found, "\(error)")
            }
        }
        return (found, parser.isInsideReply ? "inside" : "between")
    }
}
