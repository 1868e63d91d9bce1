// The command that reads the configuration again.

internal import RESP
internal import Wording

enum ReloadCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "reload", 1...2, .server, .operate(showing: 1).ofAllThreads, usage: "[DRY]",
            "Reads the configuration file again and applies what has changed. Answers with the "
                + "changes, a line each, when all are applied; with DRY without applying any.",
            execute: reload)
    ]

    private static func reload(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        if command.count == 2, !command.matches(1, "DRY") {
            throw WireError(.err, "RELOAD [DRY]: what is \(quoted(command.text(at: 1)))?")
        }
        let reply = session.reserve()
        service.reloads.reload(
            Reloads.Order(isDry: command.count == 2, origin: "client \(session.number)") {
                [unowned service] result in
                switch result {
                case .success(let lines): service.answer(reply, .array(lines.map { text($0) }))
                case .failure(let error): service.answer(reply, error.reply)
                }
            })
        return nil
    }
}
