// The command that makes a backup.

internal import RESP
internal import Wording

enum BackupCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "backup", 2...3, .server, .operate(showing: 2).ofAllThreads, usage: "name [REPLACE]",
            "Copies the file of jobs into the directory of backups while it is served. Answers "
                + "with the copy's path when it is on the disk.",
            execute: backup)
    ]

    private static func backup(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let name = command.text(at: 1)
        if command.count == 3, !command.matches(2, "REPLACE") {
            throw WireError(.err, "BACKUP name [REPLACE]: what is \(quoted(command.text(at: 2)))?")
        }
        service.backups.make(name, replaces: command.count == 3, session.reserve())
        service.log.notice("client \(session.number) asks for BACKUP \(name)")
        return nil
    }
}
