// Operations: the commands that steer threads, jobs and the daemon, with user, door and client, in
// the log and for a while in memory. Payloads and secrets are in neither.

internal import Kernel
internal import RESP
internal import Wording

/// A command that was executed for an operator.
///
/// Confined to the thread `io`.
final class Operation {
    let at: Int64
    let user: String
    let door: String
    let peer: String
    /// The command with its leading arguments.
    let command: String
    /// The answer; nil until it is given.
    fileprivate(set) var answer: String?

    fileprivate init(at: Int64, _ session: Session, _ command: String) {
        self.at = at
        user = session.user.name
        door = session.ends.server
        peer = session.ends.peer
        self.command = command
    }

    /// Its entries on the wire.
    var entries: [RESPValue.Entry] {
        [
            entry("at", .integer(Int(at))), entry("user", text(user)), entry("door", text(door)),
            entry("peer", text(peer)), entry("command", text(command)),
            entry("answer", answer.map(text) ?? .null),
        ]
    }
}

/// The latest operations.
///
/// Confined to the thread `io`.
final class OperationLog {
    /// How many are kept.
    static let countMax = 1_000
    /// The longest text of a command, and of an answer.
    private static let textCountMax = 256

    private let log: Log
    /// The oldest first, from `next` on once there are as many as may be.
    private var kept: [Operation] = []
    private var next = 0

    init(_ log: Log) { self.log = log }

    /// Notes a command that is about to be executed.
    ///
    /// - Parameter shownCount: how many leading arguments are shown.
    func note(
        _ command: Command, showing shownCount: Int, of session: Session, at now: Int64
    ) -> Operation {
        let shown = min(command.count, 1 + shownCount)
        let words = (0..<shown).map { printable(command.text(at: $0)) }
        let rest = shown < command.count ? [" …"] : []
        let name = (words.first ?? "").uppercased()
        let text = ([name] + words.dropFirst()).joined(separator: " ") + rest.joined()
        let operation = Operation(at: now, session, Self.cut(text))
        log.notice(
            "operation of \(operation.user) at \(operation.door) (\(operation.peer)): "
                + operation.command)
        if kept.count < Self.countMax {
            kept.append(operation)
        } else {
            kept[next] = operation
            next = (next + 1) % Self.countMax
        }
        return operation
    }

    /// Notes the answer.
    func answered(_ operation: Operation, _ answer: Session.Answer) {
        guard case .value(let value) = answer else { return }
        operation.answer = Self.cut(Self.text(of: value))
    }

    /// The newest ones, the newest first.
    func newest(_ count: Int) -> [Operation] {
        let inOrder = kept[next...] + kept[..<next]
        return inOrder.suffix(count).reversed()
    }

    private static func text(of value: RESPValue) -> String {
        switch value {
        case .simpleString(let text), .error(let text): text
        case .integer(let number): "\(number)"
        case .bulk(let bytes): String(decoding: bytes, as: UTF8.self)
        default: "OK"
        }
    }

    private static func cut(_ text: String) -> String {
        text.count > textCountMax ? text.prefix(textCountMax) + "…" : text
    }
}
